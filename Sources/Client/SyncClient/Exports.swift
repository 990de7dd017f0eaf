// Clients of the library also need its value types: one import is enough.
@_exported public import SyncEngine
@_exported public import SyncProtocol
@_exported public import SyncServerConnection
