import Configuration
import Foundation
import MariaDB
import Posix
import TestSupport
import Testing

@testable import Operations

@Suite("syncctl import")
struct ImportCommandTests {
    private let fixture: ImportFixture
    private let scratch: ScratchFolder
    private var folder: URL { scratch.url }

    init() throws {
        fixture = try ImportFixture(rows: false)
        scratch = try ScratchFolder("import")
        try Data("\(Data(repeating: 7, count: 32).base64EncodedString())\n".utf8)
            .write(to: folder.appending(path: "sealing-key"))
        try Data(configuration.utf8).write(to: folder.appending(path: "syncd.json"))
        // The file holds a secret.
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: folder.appending(path: "syncd.json").path)
    }

    private var socket: String {
        guard case .unixSocket(let path) = fixture.settings.address else { return "" }
        return path
    }

    private var configuration: String {
        """
        {
            "database": {"socket": "\(socket)", "name": "\(fixture.settings.database ?? "")", "user": "root"},
            "sealing": {"keyFile": "sealing-key"}, "allowedSignInTypes": {"Google": true},
            "GoogleServerClientId": "1-x", "GoogleServerClientSecret": "secret"
        }
        """
    }

    /// Next to the tests, where the package manager puts all programs.
    private static let program = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "syncctl")

    private var arguments: [String] {
        [
            "import", "--config", folder.appending(path: "syncd.json").path, "--from-socket", socket, "--from-database",
            fixture.sourceSettings.database ?? "", "--from-user", "root", "--json",
        ]
    }

    /// Groups of one owner, each with `files` files.
    private func fill(groups: Int, files: Int) throws {
        try fixture.atSource(
            """
            INSERT INTO User VALUES (1, 'Alice', 'Google', 'g1', '{"accessToken":"a","refreshToken":"r"}', 'F', NULL);
            INSERT INTO SharingGroup SELECT CONCAT('AAAAAAAA-0000-4000-8000-', LPAD(seq, 12, '0')), NULL, 0
                FROM seq_1_to_\(groups);
            INSERT INTO MasterVersion SELECT sharingGroupUUID, 3 FROM SharingGroup;
            INSERT INTO SharingGroupUser (sharingGroupUUID, userId, permission)
                SELECT sharingGroupUUID, 1, 'admin' FROM SharingGroup;
            INSERT INTO FileIndex (fileUUID, userId, deviceUUID, sharingGroupUUID, creationDate, updateDate, mimeType,
                                   deleted, fileVersion)
                SELECT CONCAT(SUBSTR(g.sharingGroupUUID, 25, 8), '-0000-4000-', LPAD(MOD(s.seq, 10000), 4, '0'), '-',
                              SUBSTR(g.sharingGroupUUID, 25)), 1, 'DDDDDDDD-0000-4000-8000-000000000001',
                       g.sharingGroupUUID, NOW(), NOW(), 'text/plain', 0, 0
                  FROM SharingGroup g JOIN seq_1_to_\(files) s;
            """)
    }

    @Test("An import killed midway leaves only complete groups, and the next run completes it")
    func killed() async throws {
        try fill(groups: 100, files: 20)
        // Another transaction is creating the 51st group: the import has to wait there.
        var other = try Connection(fixture.settings)
        try other.begin()
        try other.execute(
            """
            INSERT INTO sharing_groups (sharing_group_uuid, created_at)
            VALUES ('AAAAAAAA-0000-4000-8000-000000000051', NOW())
            """)
        let process = try ChildProcess([Self.program.path] + arguments)
        defer { process.send(SIGTERM) }
        try await eventually("the import is halfway") {
            try fixture.rows("SELECT COUNT(*) FROM imported_groups") == ["50"]
        }
        process.send(SIGKILL)
        try process.wait()
        try other.rollback()

        #expect(
            try fixture.rows("SELECT COUNT(*), COUNT(DISTINCT sharing_group_id) FROM files") == ["1000|50"])
        #expect(try fixture.rows("SELECT COUNT(*) FROM sharing_groups") == ["50"])

        let again = try Command(Self.program.path, arguments)
        #expect(again.status == 0, "\(again.output)")
        let report = try JSONDecoder().decode(ImportReport.self, from: Data(again.output.utf8))
        #expect(report.groups.added == 50)
        #expect(report.groups.unchanged == 50)
        #expect(report.users.unchanged == 1)
        #expect(try fixture.rows("SELECT COUNT(*) FROM files") == ["2000"])
    }

    @Test("Both formats of the older configuration file name the database; a file without one is rejected")
    func configurationFile() throws {
        func read(_ text: String) throws -> ConnectionSettings {
            let path = folder.appending(path: "Server.json")
            try Data(text.utf8).write(to: path)
            return try OlderServerDatabase.settings(readingFrom: path.path)
        }
        let nested = try read(
            #"{"db": {"host": "h", "user": "u", "password": "p", "database": "d"}, "port": 8080, "awssns": {}}"#)
        let flat = try read(
            #"{"mySQL.host": "h", "mySQL.user": "u", "mySQL.password": "p", "mySQL.database": "d", "port": "8080"}"#)

        for settings in [nested, flat] {
            #expect(settings.address == .tcp(host: "h", port: 3_306))
            #expect(settings.user == "u")
            #expect(settings.password == "p")
            #expect(settings.database == "d")
        }
        #expect(throws: ConfigurationError.self) { try read(#"{"port": 8080}"#) }
        let error = #expect(throws: ConfigurationError.self) { try read(#"{"db": {"user": "u"}}"#) }
        #expect(error?.problems.map(\.sentence) == ["db.host is missing", "db.database is missing"])
    }

    @Test("Without a source, or with two, the command reports what it needs")
    func usage() throws {
        let none = try Command(Self.program.path, ["import"])
        let two = try Command(Self.program.path, arguments + ["--from-host", "db"])

        #expect(none.status != 0 && none.output.contains("--from-config"))
        #expect(two.status != 0 && two.output.contains("are mutually exclusive"))
    }
}
