internal import Foundation
internal import GRDB
internal import SyncProtocol

/// Why the record of a directory cannot be read or written.
package struct RecordError: Error, Sendable, CustomStringConvertible {
    /// SQLite's message, or the problem; without the values of statements.
    package let description: String
}

/// The record of a directory in an SQLite file.
package final class RecordStore: Sendable {
    private let queue: DatabaseQueue

    /// Opens or creates the file.
    /// - Parameter path: nil keeps everything in memory.
    package init(path: String?) throws(RecordError) {
        queue = try Self.translating {
            var configuration = Configuration()
            configuration.label = "SyncDirectory"
            if path != nil {
                configuration.journalMode = .wal
                // The last process may still be closing the file.
                configuration.busyMode = .timeout(10)
                // Commits survive the end of the process, but not always a power loss; then files are read again.
                configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
            }
            let queue =
                try path.map { try DatabaseQueue(path: $0, configuration: configuration) }
                ?? DatabaseQueue(configuration: configuration)
            guard try queue.read({ try !Self.migrator.hasBeenSuperseded($0) }) else {
                throw RecordError(description: "the directory's record was written by a newer version of this program")
            }
            try Self.migrator.migrate(queue)
            return queue
        }
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first") { db in
            try db.execute(
                sql: """
                    CREATE TABLE file (
                      fileUUID TEXT PRIMARY KEY NOT NULL,
                      path TEXT NOT NULL,
                      signature TEXT,
                      digest BLOB NOT NULL,
                      mimeType TEXT NOT NULL,
                      modified INTEGER NOT NULL,
                      changedBy TEXT NOT NULL,
                      serverPath TEXT,
                      pending INTEGER NOT NULL,
                      conflict INTEGER NOT NULL,
                      isAlias INTEGER NOT NULL
                    );
                    CREATE TABLE displaced (
                      name TEXT PRIMARY KEY NOT NULL,
                      path TEXT NOT NULL,
                      expected BLOB,
                      replacement BLOB,
                      since REAL NOT NULL
                    );
                    CREATE TABLE conflict (
                      id INTEGER PRIMARY KEY AUTOINCREMENT,
                      kind TEXT NOT NULL,
                      path TEXT NOT NULL,
                      copy TEXT,
                      date REAL NOT NULL
                    );
                    CREATE TABLE setting (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
                    """)
        }
        migrator.registerMigration("second") { db in
            try db.execute(
                sql: """
                    CREATE TABLE twin (path TEXT PRIMARY KEY NOT NULL, signature TEXT NOT NULL);
                    CREATE TABLE handedOver (
                      fileUUID TEXT PRIMARY KEY NOT NULL,
                      path TEXT NOT NULL,
                      what INTEGER NOT NULL,
                      bytes INTEGER NOT NULL,
                      problem TEXT,
                      isBlocked INTEGER NOT NULL
                    );
                    """)
        }
        return migrator
    }

    /// A stored setting; nil if it does not exist.
    package func setting(_ name: String) throws(RecordError) -> String? {
        try Self.translating {
            try queue.read {
                try String.fetchOne($0, sql: "SELECT value FROM setting WHERE name = ?", arguments: [name])
            }
        }
    }

    /// Stores a setting.
    package func set(_ name: String, to value: String) throws(RecordError) {
        try write("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", [name, value])
    }

    func files() throws(RecordError) -> [RecordedFile] {
        try Self.translating { try queue.read { try Row.fetchAll($0, sql: "SELECT * FROM file").map(Self.file) } }
    }

    func save(_ file: RecordedFile) throws(RecordError) {
        let signature = try Self.translating { try file.signature.map { try JSONEncoder().encode($0) } }
        try write(
            """
            INSERT OR REPLACE INTO file (
              fileUUID, path, signature, digest, mimeType, modified, changedBy, serverPath, pending, conflict, isAlias)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                file.fileUUID.rawValue, file.path.text, signature.map { String(decoding: $0, as: UTF8.self) },
                file.digest.bytes, file.mimeType.rawValue, file.modified, file.by, file.serverPath?.text,
                file.pending.rawValue, file.conflict.rawValue, file.isAlias,
            ])
    }

    func remove(_ uuid: FileUUID) throws(RecordError) {
        try write("DELETE FROM file WHERE fileUUID = ?", [uuid.rawValue])
    }

    func displaced() throws(RecordError) -> [DisplacedFile] {
        try Self.translating {
            try queue.read { try Row.fetchAll($0, sql: "SELECT * FROM displaced").map(Self.displacedFile) }
        }
    }

    func save(_ file: DisplacedFile) throws(RecordError) {
        try write(
            "INSERT OR REPLACE INTO displaced (name, path, expected, replacement, since) VALUES (?, ?, ?, ?, ?)",
            [
                file.name, file.path.text, file.expected?.bytes, file.replacement?.bytes,
                file.since.timeIntervalSince1970,
            ])
    }

    func removeDisplaced(_ name: String) throws(RecordError) {
        try write("DELETE FROM displaced WHERE name = ?", [name])
    }

    func twins() throws(RecordError) -> [(path: RelativePath, signature: FileSignature)] {
        try Self.translating {
            try queue.read { db in
                try Row.fetchAll(db, sql: "SELECT path, signature FROM twin").map { row in
                    let signature: String = row["signature"]
                    return (
                        try Self.known(RelativePath(row["path"])),
                        try JSONDecoder().decode(FileSignature.self, from: Data(signature.utf8))
                    )
                }
            }
        }
    }

    func saveTwin(_ path: RelativePath, _ signature: FileSignature) throws(RecordError) {
        let signature = try Self.translating { String(decoding: try JSONEncoder().encode(signature), as: UTF8.self) }
        try write("INSERT OR REPLACE INTO twin (path, signature) VALUES (?, ?)", [path.text, signature])
    }

    func removeTwin(_ path: RelativePath) throws(RecordError) {
        try write("DELETE FROM twin WHERE path = ?", [path.text])
    }

    func handedOver() throws(RecordError) -> [HandedOver] {
        try Self.translating {
            try queue.read { db in
                try Row.fetchAll(db, sql: "SELECT * FROM handedOver").map { row in
                    HandedOver(
                        fileUUID: try Self.known(FileUUID(row["fileUUID"])),
                        path: try Self.known(RelativePath(row["path"])),
                        what: RecordedFile.Pending(rawValue: row["what"]), bytes: row["bytes"],
                        problem: row["problem"], isBlocked: row["isBlocked"])
                }
            }
        }
    }

    func save(_ row: HandedOver) throws(RecordError) {
        try write(
            """
            INSERT OR REPLACE INTO handedOver (fileUUID, path, what, bytes, problem, isBlocked) VALUES (?, ?, ?, ?, ?, ?)
            """,
            [row.fileUUID.rawValue, row.path.text, row.what.rawValue, row.bytes, row.problem, row.isBlocked])
    }

    func removeHandedOver(_ uuid: FileUUID) throws(RecordError) {
        try write("DELETE FROM handedOver WHERE fileUUID = ?", [uuid.rawValue])
    }

    func add(_ conflict: DirectoryConflict) throws(RecordError) {
        try write(
            "INSERT INTO conflict (kind, path, copy, date) VALUES (?, ?, ?, ?)",
            [conflict.kind.rawValue, conflict.path, conflict.copy, conflict.date.timeIntervalSince1970])
    }

    /// The conflicts so far, oldest first.
    package func conflicts() throws(RecordError) -> [DirectoryConflict] {
        try Self.translating {
            try queue.read { db in
                try Row.fetchAll(db, sql: "SELECT kind, path, copy, date FROM conflict ORDER BY id").map { row in
                    DirectoryConflict(
                        kind: try Self.known(DirectoryConflict.Kind(rawValue: row["kind"])), path: row["path"],
                        copy: row["copy"], date: Date(timeIntervalSince1970: row["date"]))
                }
            }
        }
    }

    private static func file(_ row: Row) throws -> RecordedFile {
        let signature: String? = row["signature"]
        var file = RecordedFile(
            fileUUID: try known(FileUUID(row["fileUUID"])), path: try known(RelativePath(row["path"])),
            signature: try signature.map { try JSONDecoder().decode(FileSignature.self, from: Data($0.utf8)) },
            digest: try known(ContentDigest(row["digest"])), mimeType: try known(MIMEType(row["mimeType"] as String)),
            modified: row["modified"], by: row["changedBy"],
            serverPath: (row["serverPath"] as String?).flatMap { RelativePath($0) },
            pending: RecordedFile.Pending(rawValue: row["pending"]))
        file.conflict = RecordedFile.Conflict(rawValue: row["conflict"])
        file.isAlias = row["isAlias"]
        return file
    }

    private static func displacedFile(_ row: Row) throws -> DisplacedFile {
        DisplacedFile(
            name: row["name"], path: try known(RelativePath(row["path"])),
            expected: (row["expected"] as Data?).flatMap { ContentDigest($0) },
            replacement: (row["replacement"] as Data?).flatMap { ContentDigest($0) },
            since: Date(timeIntervalSince1970: row["since"]))
    }

    private static func known<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw RecordError(description: "the directory's record contains an invalid value") }
        return value
    }

    /// Runs `body` on the calling thread; all its changes are one transaction.
    func together<Value>(_ body: () throws -> Value) throws -> Value {
        try queue.write { _ in try body() }
    }

    /// A statement of its own, or a part of ``together(_:)``.
    private func write(_ sql: String, _ arguments: [(any DatabaseValueConvertible)?]) throws(RecordError) {
        try Self.translating {
            try queue.unsafeReentrantWrite {
                try $0.cachedStatement(sql: sql).execute(arguments: StatementArguments(arguments))
            }
        }
    }

    private static func translating<Value>(_ body: () throws -> Value) throws(RecordError) -> Value {
        do { return try body() } catch let error as RecordError { throw error } catch let error as DatabaseError {
            throw RecordError(description: "SQLite \(error.resultCode.rawValue): \(error.message ?? "")")
        } catch { throw RecordError(description: "the directory's record cannot be used") }
    }
}
