import Foundation
import MariaDB
import TestSupport
import Testing

@Suite("Server failures")
struct ServerTroubleTests {
    /// The meaning of an error for the caller.
    enum Meaning: String {
        case unavailable, contention, accessDenied, constraint, other

        init(_ error: MariaDBError) {
            self =
                switch error {
                case .unavailable: .unavailable
                case .contention: .contention
                case .accessDenied: .accessDenied
                case .constraint: .constraint
                default: .other
                }
        }
    }

    /// The server really sends these error codes, although their causes are absent.
    @Test(
        "A node that is not ready, full, read-only or stopping is unavailable; conflicts can be retried",
        arguments: [
            // A Galera node without its cluster; read-only; disk full; table space full; shutting down.
            (1047, Meaning.unavailable), (1290, .unavailable), (1021, .unavailable), (1114, .unavailable),
            (1053, .unavailable), (1077, .unavailable),
            // Read-only due to other settings; failing disk.
            (1036, .unavailable), (1792, .unavailable), (1836, .unavailable), (1874, .unavailable),
            (1030, .unavailable), (1026, .unavailable),
            // Too many connections, in total and for one account; out of memory.
            (1040, .unavailable), (1203, .unavailable), (1226, .unavailable), (1037, .unavailable),
            // Deadlock, lock timeout, failed certification at COMMIT, changed since it was read.
            (1213, .contention), (1205, .contention), (1180, .contention), (1020, .contention),
            // A table altered during a statement, a statement unknown to the server, KILL QUERY.
            (1615, .contention), (1243, .contention), (1317, .contention),
            (1142, .accessDenied), (1044, .accessDenied), (1406, .constraint), (4025, .constraint),
        ])
    func meaning(code: Int, meaning: Meaning) throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        do {
            try connection.executeScript("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = \(code)")
            Issue.record("expected an error")
        } catch {
            #expect(Meaning(error) == meaning, "\(String(reflecting: error))")
            let isUsable = connection.isUsable
            #expect(isUsable == (meaning != .unavailable))
        }
    }

    @Test("A statement that the server cannot adapt or has lost is prepared again; one with a conflict is kept")
    func preparedAnew() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        #expect(throws: MariaDBError.self) {
            try connection.execute("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1213")
        }
        #expect(connection.preparedStatementCount == 1)
        #expect(throws: MariaDBError.self) {
            try connection.execute("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1615")
        }
        #expect(throws: MariaDBError.self) {
            try connection.execute("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1243")
        }
        #expect(connection.preparedStatementCount == 1)
    }

    @Test("A server never receives a local file, regardless of the statement")
    func localFile() throws {
        let settings = try ScratchDatabase.shared().makeDatabase()
        var connection = try Connection(settings)
        let folder = try ScratchFolder("infile")
        let file = folder.url.appending(path: "secret")
        try Data("secret\n".utf8).write(to: file)
        try connection.executeScript("SET GLOBAL local_infile = 1; CREATE TABLE item (name TEXT)")

        #expect(throws: MariaDBError.self) {
            try connection.executeScript("LOAD DATA LOCAL INFILE '\(file.path)' INTO TABLE item")
        }

        var next = try Connection(settings)
        var rows: Int64 = -1
        try next.query("SELECT COUNT(*) FROM item") { (row) throws(MariaDBError) in rows = try row.int(0) }
        #expect(rows == 0)
    }

    @Test("A server that became read-only, for example after a failover, is unavailable, and so is its connection")
    func readOnly() throws {
        let server = try ScratchDatabase()
        var settings = try server.makeDatabase()
        var administrator = try Connection(settings)
        try administrator.executeScript(
            """
            CREATE TABLE item (id INT PRIMARY KEY);
            CREATE USER app@localhost IDENTIFIED BY 'app';
            GRANT ALL ON \(settings.database ?? "").* TO app@localhost
            """)
        settings.user = "app"
        settings.password = "app"
        var connection = try Connection(settings)
        try connection.execute("INSERT INTO item VALUES (1)")

        try administrator.executeScript("SET GLOBAL read_only = 1")
        try connection.begin()
        do {
            try connection.execute("INSERT INTO item VALUES (2)")
            Issue.record("expected an error")
        } catch {
            guard case .unavailable(code: 1290, _) = error else { throw error }
        }
        // A new connection may reach the server that took over.
        #expect(connection.isUsable == false)

        try administrator.executeScript("SET GLOBAL read_only = 0")
        var next = try Connection(settings)
        try next.execute("INSERT INTO item VALUES (2)")
    }

    @Test("A server with a full disk is unavailable for writes, and can still be read")
    func fullDisk() throws {
        let server = try ScratchDatabase(options: [
            "--innodb-data-file-path=ibdata1:12M:autoextend:max:40M", "--innodb-file-per-table=0",
        ])
        let settings = try server.makeDatabase()
        var connection = try Connection(settings)
        try connection.executeScript("CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, data LONGBLOB)")
        let megabyte = [UInt8](repeating: 7, count: 1 << 20)

        var failure: MariaDBError?
        for _ in 0..<60 where failure == nil {
            do throws(MariaDBError) {
                try connection.execute("INSERT INTO item (data) VALUES (?)", [.bytes(megabyte)])
            } catch { failure = error }
        }

        guard case .unavailable(code: 1114, _)? = failure else {
            Issue.record("\(failure.map { String(reflecting: $0) } ?? "no error")")
            return
        }
        #expect(connection.isUsable == false)
        var next = try Connection(settings)
        var rows: Int64 = 0
        try next.query("SELECT COUNT(*) FROM item") { (row) throws(MariaDBError) in rows = try row.int(0) }
        #expect(rows > 5)
    }
}
