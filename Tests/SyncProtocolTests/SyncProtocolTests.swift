// SyncProtocolTests
