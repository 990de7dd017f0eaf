import Foundation
import GRDB
package import SyncEngine

/// A client's persistent state, in an SQLite file.
///
/// Each set of changes is one transaction. The database is in WAL mode; a written change survives the end of the
/// process.
package final class ClientDatabase: Sendable {
    private let queue: DatabaseQueue

    /// Opens or creates the store, and migrates its schema.
    /// - Parameter path: The file; its folder must exist. Nil keeps everything in memory.
    package convenience init(path: String?) throws(StoreError) {
        self.init(
            try Self.translating {
                let queue = try path.map { try DatabaseQueue(path: $0, configuration: Self.configuration) }
                let opened = try queue ?? DatabaseQueue(configuration: Self.memoryConfiguration)
                guard try opened.read({ try !Migrations.migrator.hasBeenSuperseded($0) }) else {
                    throw StoreError.tooNew
                }
                try Migrations.migrator.migrate(opened)
                #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
                    // A background launch while the device is locked must be able to read the store.
                    if let path { try Self.protectUntilFirstUnlock(path) }
                #endif
                return opened
            })
    }

    /// Creates a store in memory with the contents of another one; takes much less time than a migration.
    package convenience init(copying other: ClientDatabase) throws(StoreError) {
        self.init(
            try Self.translating {
                let copy = try DatabaseQueue(configuration: Self.memoryConfiguration)
                try other.queue.backup(to: copy)
                return copy
            })
    }

    private init(_ queue: DatabaseQueue) {
        self.queue = queue
    }

    private static var memoryConfiguration: Configuration {
        var configuration = Configuration()
        configuration.label = "SyncStore"
        return configuration
    }

    private static var configuration: Configuration {
        var configuration = memoryConfiguration
        configuration.journalMode = .wal
        // A released instance, or a process that ends, may still be closing the file: the last connection checkpoints
        // the log, and blocks all readers meanwhile (https://www.sqlite.org/wal.html, section 9).
        configuration.busyMode = .timeout(10)
        // Commits survive the end of the process, but not always a power loss; then the server is queried again.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            // An app that posts GRDB's notifications for its own databases stops this one as well.
            configuration.observesSuspensionNotifications = true
        #endif
        return configuration
    }

    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
        private static func protectUntilFirstUnlock(_ path: String) throws {
            for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.setAttributes(
                    [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication],
                    ofItemAtPath: path + suffix)
            }
        }
    #endif

    /// Reads everything.
    package func load() throws(StoreError) -> ClientState {
        try Self.translating {
            try queue.read { db in
                var state = ClientState()
                state.groups = Table(stored: try SharingEntry.load(db))
                state.directory = Table(stored: try DirectoryEntry.load(db))
                state.queues = Table(stored: try UploadQueue.load(db))
                state.items = Table(stored: try UploadItem.load(db))
                state.downloadGroups = Table(stored: try DownloadGroup.load(db))
                state.downloads = Table(stored: try DownloadItem.load(db))
                state.transfers = Table(stored: try TransferCacheEntry.load(db))
                state.account = Table(stored: try AccountState.load(db))
                state.reuploads = Table(stored: try ReuploadItem.load(db))
                state.lastIDs = try Self.lastIDs(db)
                return state
            }
        }
    }

    /// SQLite stores the greatest id of each table with `AUTOINCREMENT`; see https://www.sqlite.org/autoinc.html
    private static func lastIDs(_ db: Database) throws -> ClientState.LastIDs {
        var last = ClientState.LastIDs()
        for row in try Row.fetchAll(db, sql: "SELECT name, seq FROM sqlite_sequence") {
            let number: Int64 = row["seq"]
            switch row["name"] as String {
            case "uploadQueue": last.queue = number
            case "uploadItem": last.item = number
            case "downloadGroup": last.downloadGroup = number
            case "downloadItem": last.download = number
            case "transferCache": last.transfer = number
            default: break
            }
        }
        return last
    }

    /// Writes the changes that one event makes: all of them, or none.
    ///
    /// Rows are removed from the children up and written from the parents down, so that no reference dangles and no
    /// unique constraint sees an old and a new row at once.
    package func write(_ changes: StateChanges) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try Self.translating {
            try queue.write { db in
                try Self.remove(changes.reuploads, db)
                try Self.remove(changes.account, db)
                try Self.remove(changes.transfers, db)
                try Self.remove(changes.downloads, db)
                try Self.remove(changes.downloadGroups, db)
                try Self.remove(changes.items, db)
                try Self.remove(changes.queues, db)
                try Self.remove(changes.directory, db)
                try Self.remove(changes.groups, db)
                try Self.put(changes.groups, db)
                try Self.put(changes.directory, db)
                try Self.put(changes.queues, db)
                try Self.put(changes.items, db)
                try Self.put(changes.downloadGroups, db)
                try Self.put(changes.downloads, db)
                try Self.put(changes.transfers, db)
                try Self.put(changes.account, db)
                try Self.put(changes.reuploads, db)
            }
        }
    }

    private static func remove<Stored: StoredRow>(_ changes: [RowChange<Stored>], _ db: Database) throws {
        for case .remove(let key) in changes {
            try db.cachedStatement(sql: Stored.deleteSQL).execute(arguments: [Stored.databaseValue(of: key)])
        }
    }

    private static func put<Stored: StoredRow>(_ changes: [RowChange<Stored>], _ db: Database) throws {
        for case .put(let row) in changes {
            try db.cachedStatement(sql: Stored.upsertSQL).execute(arguments: StatementArguments(row.values))
        }
    }

    /// A setting of the client, such as the user's id.
    package func setting(_ key: String) throws(StoreError) -> String? {
        try Self.translating {
            try queue.read { db in
                try String.fetchOne(db, sql: "SELECT value FROM clientState WHERE key = ?", arguments: [key])
            }
        }
    }

    /// Sets or, with nil, removes a setting of the client.
    package func set(_ key: String, to value: String?) throws(StoreError) {
        try Self.translating {
            try queue.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO clientState (key, value) VALUES (?, ?)
                        ON CONFLICT (key) DO UPDATE SET value = excluded.value
                        """, arguments: [key, value])
            }
        }
    }

    /// A number that differs after another connection, such as another process's, has changed the store; see
    /// https://www.sqlite.org/pragma.html#pragma_data_version
    package func stampOfOthers() throws(StoreError) -> Int64? {
        try Self.translating { try queue.read { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") } }
    }

    private static func translating<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
        do {
            return try body()
        } catch let error as StoreError {
            throw error
        } catch let error as DatabaseError {
            throw .database(code: error.extendedResultCode.rawValue)
        } catch {
            throw .database(code: ResultCode.SQLITE_ERROR.rawValue)
        }
    }
}

/// Why an operation of the store failed.
package enum StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// SQLite reports an error, with its result code; see https://www.sqlite.org/rescode.html
    case database(code: Int32)
    /// A stored value is not one that this library writes.
    case corrupt(table: String, column: String)
    /// The store was written by a newer library.
    case tooNew

    /// Safe to log: contains no stored values.
    package var description: String {
        switch self {
        case .database(let code): "SQLite error \(code)"
        case .corrupt(let table, let column): "unreadable value in \(table).\(column)"
        case .tooNew: "the store was written by a newer version of the library"
        }
    }
}
