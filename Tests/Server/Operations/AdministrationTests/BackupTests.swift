import Foundation
import MariaDB
import Store
import SyncProtocol
import TestSupport
import Testing
import Vault

@testable import Operations

@Suite("Backup and restore")
struct BackupTests {
    private let ownFolder: ScratchFolder
    private var folder: URL { ownFolder.url }
    private var path: String { folder.appending(path: "b.gz").path }

    init() throws { ownFolder = try ScratchFolder("backup") }

    private func backUp(_ fixture: AdministrationFixture) throws -> BackupReport {
        try BackupWriter(store: fixture.store).write(
            to: path, serverVersion: "1.2.3", database: "test", at: AdministrationFixture.now)
    }

    /// The restore marks of all groups.
    private func marks(in fixture: AdministrationFixture) throws -> [String?] {
        try column("restore_mark", in: fixture)
    }

    /// The master versions of all groups immediately after the restore.
    private func restoredVersions(in fixture: AdministrationFixture) throws -> [String?] {
        try column("restored_master_version", in: fixture)
    }

    private func column(_ name: SQL, in fixture: AdministrationFixture) throws -> [String?] {
        var connection = try Connection(fixture.settings)
        var values: [String?] = []
        try connection.query("SELECT CAST(\(name) AS CHAR) FROM sharing_groups") { (row) throws(MariaDBError) in
            values.append(row.isNull(0) ? nil : try row.text(0))
        }
        return values
    }

    private func checksums(_ settings: ConnectionSettings) throws -> [String: Int64] {
        var connection = try Connection(settings)
        var sums: [String: Int64] = [:]
        try connection.query(
            """
            CHECKSUM TABLE users, departed_users, devices, sharing_groups, memberships, invitations, files, staged_changes, batches,
                           commits, commit_members, outbox, exchanged_codes, apple_notices, push_registrations,
                           content_hashes, index_pages, manifest_keys, gone_contents, imported_users, imported_groups
            """
        ) { (row) throws(MariaDBError) in
            sums[String(try row.text(0).split(separator: ".")[1])] = try row.int(1)
        }
        return sums
    }

    @Test("An empty database can be backed up, and the report states that it is empty")
    func nothing() throws {
        let report = try backUp(AdministrationFixture(populated: false))

        #expect(report.text.contains("contains   nothing\n"))
        #expect(try BackupVerifier(path: path).verify().isGood)
    }

    @Test("A restore is exact to the last byte, and ids continue from there")
    func roundTrip() throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            #"""
            UPDATE users SET display_name = 'Tab\t, line\n, return\r, back\\slash, \\N, é 🙂', refresh_lease_until = '2026-01-01 00:00:00.123'
             WHERE user_id = 1;
            UPDATE users SET display_name = '' WHERE user_id = 2;
            UPDATE files SET app_metadata = '\\N', app_metadata_version = 0;
            INSERT INTO exchanged_codes (code_hash, credentials, exchanged_at)
            VALUES (X'000102030405060708090A0D5C00000000000000000000000000000000000000', X'00FF0A09', NOW());
            INSERT INTO users (user_id, account_type, provider_user_id, display_name, created_at)
            VALUES (40, 'Facebook', 'f-40', 'gone', NOW());
            DELETE FROM users WHERE user_id = 40;
            INSERT INTO departed_users (user_id, account_type, provider_user_id, credentials, forgotten_at)
            VALUES (39, 'Google', 'g-39', X'00', NOW());
            INSERT INTO outbox (kind, user_id, account_type, account_hash, credentials, available_at, created_at, request_id)
            VALUES ('revokeGrant', 39, 'Google', REPEAT(X'01', 32), X'00', NOW(), NOW(), '0123456789abcdef');
            """#)
        let report = try backUp(fixture)
        let empty = try AdministrationFixture(migrated: false)

        let restored = try Restorer(into: empty.settings).restore(path)

        // The only new values.
        #expect(try marks(in: empty) == [restored.marks.restoreMark.rawValue])
        #expect(restored.marks.groups == 1)
        try empty.run("UPDATE sharing_groups SET restore_mark = NULL, restored_master_version = NULL")
        #expect(try checksums(empty.settings) == checksums(fixture.settings))
        #expect(restored.manifest == report.manifest)
        #expect(restored.counts["files"] == 2)
        // Uploads since the backup are unknown here.
        var connection = try Connection(empty.settings)
        var gaps: [String] = []
        try connection.query("SELECT backup_taken_at FROM restorations") { (row) throws(MariaDBError) in
            gaps.append(try row.text(0))
        }
        #expect(gaps == [report.manifest.header.takenAt.description])
        #expect(report.manifest.parts["users"]?.nextNumber == 41)
        try empty.run(
            "INSERT INTO users (account_type, provider_user_id, display_name, created_at) VALUES ('Facebook', 'n', '', NOW())"
        )
        #expect(try empty.number("SELECT MAX(user_id) FROM users") == 41)
        #expect(try Fsck(store: empty.store, sealer: empty.sealer, rowLimit: 5).run() == [])
    }

    @Test("Each restore gives all groups new marks, even from a backup that predates marks")
    func markedAnew() throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            """
            UPDATE sharing_groups
               SET restore_mark = 'of an earlier restoration', restored_master_version = 4, master_version = 7
            """)
        _ = try backUp(fixture)
        let (current, older) = (path + ".current", path + ".older")
        try FileManager.default.moveItem(atPath: path, toPath: current)
        let before = try AdministrationFixture()
        try before.run(
            """
            ALTER TABLE sharing_groups DROP COLUMN restore_mark, DROP COLUMN restored_master_version;
            UPDATE sharing_groups SET master_version = 7
            """)
        _ = try backUp(before)
        let command = try Command(
            "/bin/sh", ["-c", #"zcat '\#(path)' | sed 's/"schema":20/"schema":19/' | gzip > '\#(older)'"#])
        #expect(command.status == 0)

        let marks = try [(current, "4"), (current, "4"), (older, "7")].map { backup, version in
            let empty = try AdministrationFixture(migrated: false)
            let mark = try Restorer(into: empty.settings).restore(backup).marks.restoreMark.rawValue
            #expect(try self.marks(in: empty) == [mark])
            // A device may have been offline since the earlier restore.
            #expect(try restoredVersions(in: empty) == [version])
            return mark
        }

        #expect(Set(marks).count == 3)
    }

    @Test("A restore that is interrupted after the rows leaves no group without a mark")
    func markedWithTheRows() throws {
        _ = try backUp(try AdministrationFixture())
        let empty = try AdministrationFixture(populated: false)
        try empty.run(
            "CREATE TRIGGER fault BEFORE INSERT ON restorations FOR EACH ROW SIGNAL SQLSTATE '45000'")

        #expect(throws: (any Error).self) { try Restorer(into: empty.settings).restore(path) }

        let marks = try marks(in: empty)
        #expect(marks.count == 1 && marks[0] != nil)
        #expect(try restoredVersions(in: empty) == column("master_version", in: empty))
    }

    @Test("After a restore by other means, groups are marked and uploads in progress discarded")
    func markedAlone() throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, lease_owner, created_at)
            VALUES ('deleteObject', 1, 'Google', 'under-way', '2099-01-01', 'upload', NOW())
            """)
        let date = try #require(WireDate("2026-01-02 03:04:05"))

        let first = try Restorer.markRestored(fixture.store, stateOf: date)
        let versions = try column("master_version", in: fixture)
        #expect(try restoredVersions(in: fixture) == versions)
        try fixture.run("UPDATE sharing_groups SET master_version = master_version + 5")
        let second = try Restorer.markRestored(fixture.store, stateOf: date)

        #expect(first.forgottenIntents == 1 && second.forgottenIntents == 0)
        #expect(first.restoreMark != second.restoreMark)
        #expect(try marks(in: fixture) == [second.restoreMark.rawValue] && second.groups == 1)
        #expect(try restoredVersions(in: fixture) == versions)
        #expect(
            try fixture.number("SELECT COUNT(*) FROM restorations WHERE backup_taken_at = '2026-01-02 03:04:05'") >= 1)
        #expect(second.text.contains(second.restoreMark.rawValue))
    }

    @Test("A backup contains every table of the schema; an unknown table prevents it")
    func complete() throws {
        let fixture = try AdministrationFixture()
        let tables = try backUp(fixture).manifest.parts.keys

        #expect(Set(tables) == Set(StoredTable.allCases.map(\.rawValue)))
        #expect(try fixture.store.withSession { try $0.unknownTables() } == [])
        try FileManager.default.removeItem(atPath: path)
        try fixture.run("CREATE TABLE forgotten (id INT PRIMARY KEY)")
        #expect(throws: BackupError.unknownTables(["forgotten"])) { try backUp(fixture) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test("A restore into a non-empty database is rejected, and changes nothing")
    func notEmpty() throws {
        let fixture = try AdministrationFixture()
        _ = try backUp(fixture)
        let before = try checksums(fixture.settings)

        #expect(throws: RestoreError.databaseNotEmpty(table: "users")) {
            try Restorer(into: fixture.settings).restore(path)
        }
        #expect(try checksums(fixture.settings) == before)
    }

    @Test("A restore into another application's database is rejected, and creates no tables")
    func foreignDatabase() throws {
        _ = try backUp(AdministrationFixture())
        let other = try AdministrationFixture(migrated: false)
        try other.run("CREATE TABLE theirs (id INT PRIMARY KEY)")

        #expect(throws: RestoreError.foreignTable("theirs")) { try Restorer(into: other.settings).restore(path) }

        #expect(
            try other.number("SELECT COUNT(*) FROM information_schema.TABLES WHERE table_schema = DATABASE()") == 1)
    }

    @Test("A row count after the restore detects missing rows")
    func rowsLost() throws {
        let fixture = try AdministrationFixture()
        try fixture.run("INSERT INTO apple_notices VALUES (REPEAT('n', 32), '2026-01-01')")
        _ = try backUp(fixture)
        let empty = try AdministrationFixture(populated: false)
        // Deletes a row behind the restorer's back.
        try empty.run(
            "CREATE TRIGGER thief AFTER INSERT ON apple_notices FOR EACH ROW DELETE FROM devices WHERE user_id = 2")

        #expect {
            try Restorer(into: empty.settings).restore(path)
        } throws: { error in
            guard case BackupError.countsDiffer(let table, let expected, let found) = error else { return false }
            return table == "devices" && expected == 2 && found == 1
        }
    }

    @Test("An existing file is not overwritten")
    func exists() throws {
        let fixture = try AdministrationFixture()
        try Data("mine".utf8).write(to: URL(filePath: path))

        #expect(throws: BackupError.exists(path)) { try backUp(fixture) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }

    @Test("Only the owner can read the file")
    func mode() throws {
        _ = try backUp(try AdministrationFixture())

        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test(
        "Damage anywhere is detected before anything is restored",
        arguments: ["cut", "flipped", "row", "count", "other"])
    func damaged(_ kind: String) throws {
        _ = try backUp(try AdministrationFixture())
        if kind == "cut" || kind == "flipped" || kind == "other" {
            var bytes = try Data(contentsOf: URL(filePath: path))
            switch kind {
            case "cut": bytes = bytes.prefix(bytes.count / 2)
            case "flipped": bytes[bytes.count / 2] ^= 0x40
            default: bytes = Data("no backup\n".utf8)
            }
            try bytes.write(to: URL(filePath: path))
        } else {
            let from = kind == "row" ? "Holidays" : #""rows":1,"#
            let to = kind == "row" ? "Birthday" : #""rows":2,"#
            let command = try Command(
                "/bin/sh",
                ["-c", "zcat '\(path)' | sed 's/\(from)/\(to)/' | gzip > '\(path).new' && mv '\(path).new' '\(path)'"])
            #expect(command.status == 0, "\(command.output)")
        }
        let empty = try AdministrationFixture(migrated: false)

        #expect(throws: (any Error).self) { try BackupReader(path: path).verify() }
        #expect(throws: (any Error).self) { try Restorer(into: empty.settings).restore(path) }
        #expect(
            try empty.number("SELECT COUNT(*) FROM information_schema.TABLES WHERE table_schema = DATABASE()") == 0)
    }

    @Test("A backup with a newer schema or format is rejected with the reason")
    func newer() throws {
        _ = try backUp(try AdministrationFixture())
        func rewritten(_ from: String, _ to: String) throws -> BackupReader {
            let other = folder.appending(path: UUID().uuidString).path
            let command = try Command(
                "/bin/sh", ["-c", "zcat '\(path)' | sed 's/\(from)/\(to)/g' | gzip > '\(other)'"])
            #expect(command.status == 0)
            return BackupReader(path: other)
        }

        #expect(throws: BackupError.schemaTooNew(99, known: MigrationRunner.newestStep)) {
            try rewritten(#""schema":[0-9]*"#, #""schema":99"#).verify()
        }
        #expect(throws: BackupError.formatTooNew(3)) { try rewritten(#""format":1"#, #""format":3"#).verify() }
    }

    @Test("Uploads in progress are not restored, because some have completed; other work is kept")
    func intents() throws {
        let fixture = try AdministrationFixture()
        try fixture.run(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_id, available_at, lease_owner, created_at)
            VALUES ('deleteObject', 1, 'Google', 'under-way', '2099-01-01', 'upload', NOW())
            """)
        _ = try backUp(fixture)
        let empty = try AdministrationFixture(migrated: false)

        let report = try Restorer(into: empty.settings).restore(path)

        #expect(report.forgottenIntents == 1)
        #expect(try empty.number("SELECT COUNT(*) FROM outbox") == 1)
        #expect(try empty.number("SELECT COUNT(*) FROM outbox WHERE object_id = 'object-0'") == 1)
    }

    @Test("A scratch restore verifies the backup and leaves the scratch database empty")
    func scratch() throws {
        let fixture = try AdministrationFixture()
        _ = try backUp(fixture)
        let scratch = try AdministrationFixture(migrated: false)

        let report = try BackupVerifier(path: path).verify(restoringInto: scratch.settings, sealer: fixture.sealer)

        #expect(report.isGood)
        #expect(report.text.contains("with all rows"))
        #expect(
            try scratch.number("SELECT COUNT(*) FROM information_schema.TABLES WHERE table_schema = DATABASE()") == 0)
        #expect(throws: RestoreError.self) {
            try BackupVerifier(path: path).verify(restoringInto: fixture.settings, sealer: fixture.sealer)
        }
        #expect(try fixture.number("SELECT COUNT(*) FROM users") == 2)
    }

    @Test("The report states clearly which contents are missing")
    func loud() throws {
        let text = try backUp(try AdministrationFixture()).text

        #expect(text.contains("NOT IN IT  the sealing key"))
        #expect(text.contains("people's files"))
    }
}
