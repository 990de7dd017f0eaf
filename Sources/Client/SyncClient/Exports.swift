// Clients of the library also need its value types; this makes one import sufficient.
@_exported public import SyncEngine
@_exported public import SyncProtocol
@_exported public import SyncServerConnection
