import Foundation
import MariaDB
import TestSupport
import Testing

@Suite("Connections, transactions and their errors")
struct TransactionTests {
    /// A table `item(id, name unique)` with the rows 1 'a' and 2 'b'.
    private func makeItems() throws -> ConnectionSettings {
        var settings = try ScratchDatabase.shared().makeDatabase()
        settings.lockWaitTimeout = .seconds(1)
        var connection = try Connection(settings)
        try connection.executeScript(
            """
            CREATE TABLE item (
                id INT PRIMARY KEY, name VARCHAR(5) NOT NULL, CONSTRAINT item_name UNIQUE (name),
                CONSTRAINT short CHECK (id < 100)
            );
            INSERT INTO item VALUES (1, 'a'), (2, 'b')
            """)
        return settings
    }

    private func count(_ connection: inout Connection) throws -> Int64 {
        var count: Int64 = -1
        try connection.query("SELECT COUNT(*) FROM item") { (row) throws(MariaDBError) in count = try row.int(0) }
        return count
    }

    @Test("The session is strict, UTC, utf8mb4 and repeatable read, regardless of the server's defaults")
    func sessionSettings() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        try connection.query(
            """
            SELECT @@time_zone, @@tx_isolation, @@character_set_client, @@collation_connection, @@sql_mode,
                   @@innodb_lock_wait_timeout, @@local_infile, @@autocommit
            """
        ) { (row) throws(MariaDBError) in
            #expect(try row.text(0) == "+00:00")
            #expect(try row.text(1) == "REPEATABLE-READ")
            #expect(try row.text(2) == "utf8mb4")
            #expect(try row.text(3) == "utf8mb4_general_ci")
            #expect(try row.text(4).contains("STRICT_ALL_TABLES") == true)
            #expect(try row.int(5) == 5)
            #expect(try row.int(7) == 1)
        }
    }

    @Test("Rolled-back changes are discarded, committed ones are kept")
    func commitAndRollback() throws {
        let settings = try makeItems()
        var connection = try Connection(settings)
        var other = try Connection(settings)

        try connection.begin()
        #expect(connection.isInTransaction == true)
        try connection.execute("INSERT INTO item VALUES (3, 'c')")
        try connection.rollback()
        #expect(connection.isInTransaction == false)
        #expect(try count(&other) == 2)
        try connection.begin()
        try connection.execute("INSERT INTO item VALUES (3, 'c')")
        #expect(try count(&other) == 2)
        try connection.commit()
        #expect(try count(&other) == 3)
    }

    @Test("A read-only transaction rejects changes, and with a snapshot it sees the state at its start")
    func readOnly() throws {
        let settings = try makeItems()
        var connection = try Connection(settings)
        var other = try Connection(settings)

        try connection.begin(readOnly: true, consistentSnapshot: true)
        try other.execute("DELETE FROM item WHERE id = 1")
        #expect(try count(&connection) == 2)
        #expect(throws: MariaDBError.self) { try connection.execute("DELETE FROM item WHERE id = 2") }
        #expect(try count(&other) == 1)
    }

    @Test("A duplicate error names the violated index")
    func duplicateKey() throws {
        var connection = try Connection(makeItems())
        #expect(throws: MariaDBError.duplicateKey(key: "item_name")) {
            try connection.execute("INSERT INTO item VALUES (3, ?)", [.text("a")])
        }
        #expect(throws: MariaDBError.duplicateKey(key: "PRIMARY")) {
            try connection.execute("INSERT INTO item VALUES (1, ?)", [.text("it's")])
        }
    }

    @Test("Values that violate the schema are distinguished from invalid statements")
    func constraints() throws {
        var connection = try Connection(makeItems())
        func code(_ sql: SQL, _ values: [Value] = []) -> String {
            do { try connection.execute(sql, values) } catch {
                switch error {
                case .constraint(let code, _): return "constraint \(code)"
                case .programming(let code, _): return "programming \(code)"
                default: return "\(error)"
                }
            }
            return "success"
        }
        #expect(code("INSERT INTO item VALUES (3, ?)", [.text("too long")]) == "constraint 1406")
        #expect(code("INSERT INTO item VALUES (3, NULL)") == "constraint 1048")
        #expect(code("INSERT INTO item (id) VALUES (3)") == "constraint 1364")
        #expect(code("INSERT INTO item VALUES (?, 'c')", [.int(1 << 40)]) == "constraint 1264")
        #expect(code("INSERT INTO item VALUES (?, 'c')", [.int(100)]) == "constraint 4025")
        #expect(code("INSERT INTO item VALUES (?, 'c')", [.text("x")]) == "constraint 1366")
        #expect(code("INSERT INTO absent VALUES (1)") == "programming 1146")
        #expect(code("NONSENSE") == "programming 1064")
    }

    @Test("Waiting for another's lock ends with contention after the timeout, and the transaction can be rolled back")
    func lockTimeout() throws {
        let settings = try makeItems()
        var connection = try Connection(settings)
        var other = try Connection(settings)
        try other.begin()
        try other.execute("UPDATE item SET name = 'x' WHERE id = 1")

        try connection.begin()
        do {
            try connection.execute("UPDATE item SET name = 'y' WHERE id = 1")
            Issue.record("expected an error")
        } catch {
            guard case .contention(code: 1205, _) = error else { throw error }
        }
        // The same applies while rows are being fetched.
        do {
            try connection.query("SELECT id FROM item WHERE id = 1 FOR UPDATE") { (_) throws(MariaDBError) in }
            Issue.record("expected an error")
        } catch {
            guard case .contention(code: 1205, _) = error else { throw error }
        }
        try connection.rollback()
        try other.commit()
        #expect(connection.isUsable == true)
        #expect(try count(&connection) == 2)
    }

    @Test("In a deadlock of two transactions, one receives contention")
    func deadlock() async throws {
        let settings = try makeItems()
        let updates: @Sendable (SQL, SQL, DispatchSemaphore, DispatchSemaphore) -> MariaDBError? = {
            first, second, mine, theirs in
            do throws(MariaDBError) {
                var connection = try Connection(settings)
                try connection.begin()
                try connection.execute(first)
                mine.signal()
                theirs.wait()
                try connection.execute(second)
                try connection.commit()
                return nil
            } catch {
                return error
            }
        }
        let a = DispatchSemaphore(value: 0)
        let b = DispatchSemaphore(value: 0)
        let one: SQL = "UPDATE item SET name = 'y' WHERE id = 1"
        let two: SQL = "UPDATE item SET name = 'z' WHERE id = 2"

        async let left = onThread { updates(one, two, a, b) }
        async let right = onThread { updates(two, one, b, a) }

        let errors = await [left, right].compactMap { $0 }
        #expect(errors.count == 1)
        if case .contention(code: 1213, _)? = errors.first {} else { Issue.record("\(errors)") }
    }

    @Test("In a deadlock of two locking reads, one receives contention")
    func deadlockOfReads() async throws {
        let settings = try makeItems()
        let reads: @Sendable (SQL, SQL, DispatchSemaphore, DispatchSemaphore) -> MariaDBError? = {
            first, second, mine, theirs in
            do throws(MariaDBError) {
                var connection = try Connection(settings)
                try connection.begin()
                try connection.query(first) { (_) throws(MariaDBError) in }
                mine.signal()
                theirs.wait()
                try connection.query(second) { (_) throws(MariaDBError) in }
                try connection.commit()
                return nil
            } catch {
                return error
            }
        }
        let a = DispatchSemaphore(value: 0)
        let b = DispatchSemaphore(value: 0)
        let one: SQL = "SELECT name FROM item WHERE id = 1 FOR UPDATE"
        let two: SQL = "SELECT name FROM item WHERE id = 2 FOR UPDATE"

        async let left = onThread { reads(one, two, a, b) }
        async let right = onThread { reads(two, one, b, a) }

        let errors = await [left, right].compactMap { $0 }
        #expect(errors.count == 1)
        if case .contention(code: 1213, _)? = errors.first {} else { Issue.record("\(errors)") }
    }

    @Test("A wrong password is access denied, and the error does not name the account")
    func accessDenied() throws {
        let database = try ScratchDatabase.shared()
        var settings = database.settings(database: nil)
        settings.user = "nobody-of-that-name"
        settings.password = "secret-secret"
        do {
            _ = try Connection(settings)
            Issue.record("expected an error")
        } catch {
            guard case .accessDenied = error else { throw error }
            #expect("\(error)" == "The database refuses access.")
        }
        #expect(!"\(settings) \(String(reflecting: settings))".contains("secret-secret"))
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!dumped.contains("secret-secret"))
    }

    @Test("Without a listener, connecting fails immediately")
    func nobodyListens() throws {
        var settings = try ScratchDatabase.shared().settings(database: nil)
        settings.address = .unixSocket(path: "/nowhere/socket")
        let start = ContinuousClock.now
        #expect(throws: MariaDBError.self) { _ = try Connection(settings) }
        #expect(ContinuousClock.now - start < .seconds(1))
    }

    @Test("A connection killed in a transaction is unavailable; outside of one, the outcome is unknown")
    func killed() throws {
        let settings = try makeItems()
        var killer = try Connection(settings)
        for isInTransaction in [true, false] {
            var connection = try Connection(settings)
            var id: Int64 = 0
            try connection.query("SELECT CONNECTION_ID()") { (row) throws(MariaDBError) in id = try row.int(0) }
            if isInTransaction { try connection.begin() }
            try killer.executeScript("KILL \(id)")
            while !connection.isHungUp { sched_yield() }
            do {
                try connection.execute("DELETE FROM item")
                Issue.record("expected an error")
            } catch {
                switch error {
                case .unavailable: #expect(isInTransaction)
                case .inDoubt: #expect(!isInTransaction)
                default: throw error
                }
            }
            #expect(connection.isUsable == false)
            #expect(throws: MariaDBError.self) { try connection.begin() }
        }
        #expect(try count(&killer) == 2)
    }

    @Test("Opening, failing and closing 300 times leaks nothing and never terminates the program")
    func openFailClose() throws {
        let settings = try ScratchDatabase.shared().makeDatabase()
        var wrong = settings
        wrong.user = "nobody-of-that-name"
        var nowhere = settings
        nowhere.address = .unixSocket(path: "/nowhere/socket")
        for round in 0..<100 {
            #expect(throws: MariaDBError.self) { _ = try Connection(wrong) }
            #expect(throws: MariaDBError.self) { _ = try Connection(nowhere) }
            var connection = try Connection(settings)
            #expect(throws: MariaDBError.self) { try connection.execute("NONSENSE ?", [.text("x")]) }
            try connection.query("SELECT ?, REPEAT('x', 70000)", [.int(Int64(round))]) { (_) throws(MariaDBError) in }
            #expect(throws: MariaDBError.self) {
                try connection.query("SELECT seq FROM seq_1_to_100") { (_) throws(MariaDBError) in throw .poolExhausted
                }
            }
        }
    }
}

/// Runs blocking work on its own thread.
func onThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            ClientLibrary.threadStart()
            continuation.resume(returning: work())
            ClientLibrary.threadEnd()
        }
    }
}
