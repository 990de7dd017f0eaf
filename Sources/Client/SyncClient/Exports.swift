// Who uses the library needs its values too: one import is enough.
@_exported public import SyncEngine
@_exported public import SyncProtocol
@_exported public import SyncServerConnection
