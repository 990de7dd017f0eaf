import MariaDB
import TestSupport
import Testing

@Suite("Statements and rows")
struct StatementTests {
    @Test("Values round-trip")
    func roundTrip() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        try connection.executeScript(
            """
            CREATE TABLE item (
                id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, small TINYINT UNSIGNED, big BIGINT UNSIGNED,
                name VARCHAR(100), data LONGBLOB, made DATETIME, price DECIMAL(12,2), flag BOOLEAN
            ) CHARACTER SET utf8mb4
            """)
        let bytes = (0...255).map { UInt8($0) }

        let result = try connection.execute(
            "INSERT INTO item (small, big, name, data, made, price, flag) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                .int(255), .int(.max), .text("naïve 🐘 'quoted' \\"), .bytes(bytes), .text("2024-02-29 23:59:58"),
                .text("-12.50"), .bool(true),
            ])

        #expect(result.affectedRows == 1)
        #expect(result.lastInsertID == 1)
        var rows = 0
        try connection.query("SELECT id, small, big, name, data, made, price, flag, NULL FROM item") {
            (row) throws(MariaDBError) in
            rows += 1
            #expect(row.columnCount == 9)
            #expect(try row.int(0) == 1)
            #expect(try row.int(1) == 255)
            #expect(try row.int(2) == .max)
            #expect(try row.text(3) == "naïve 🐘 'quoted' \\")
            #expect(try row.bytes(4) == bytes)
            #expect(try row.text(5) == "2024-02-29 23:59:58")
            #expect(row.withText(5) { $0?.byteCount } == 19)
            #expect(try row.text(6) == "-12.50")
            #expect(try row.bool(7) == true)
            #expect(row.isNull(8) == true)
            #expect(row.optionalText(8) == nil)
            #expect(try row.optionalInt(8) == nil)
            #expect(row.optionalBytes(8) == nil)
        }
        #expect(rows == 1)
    }

    @Test("An unsigned value above 2^63 - 1, NULL and non-numeric text are unexpected where an integer is read")
    func unexpectedIntegers() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        try connection.query("SELECT 18446744073709551615, NULL, 'x', SUM(7) FROM dual") { (row) throws(MariaDBError) in
            #expect(row.optionalText(0) == "18446744073709551615")
            #expect(throws: MariaDBError.self) { try row.int(0) }
            #expect(throws: MariaDBError.unexpectedValue(column: 1, reason: "NULL")) { try row.int(1) }
            #expect(throws: MariaDBError.self) { try row.int(2) }
            #expect(try row.int(3) == 7)
        }
    }

    @Test(
        "Long and short values alternate in one result", arguments: [1, 1023, 1024, 1025, 65_535, 262_144, 5_000_000])
    func longColumns(length: Int) throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        try connection.executeScript("CREATE TABLE note (id INT PRIMARY KEY, a LONGTEXT, b LONGBLOB)")
        let text = String(repeating: "x", count: length)
        let bytes = [UInt8](repeating: 0xA7, count: length)
        for id in 0..<6 {
            let isLong = id % 2 == 1
            try connection.execute(
                "INSERT INTO note (id, a, b) VALUES (?, ?, ?)",
                [.int(Int64(id)), isLong ? .text(text) : .text("s"), isLong ? .bytes(bytes) : .null])
        }
        for _ in 0..<2 {
            var seen = 0
            try connection.query("SELECT id, a, b FROM note ORDER BY id") { (row) throws(MariaDBError) in
                let isLong = try row.int(0) % 2 == 1
                #expect(try row.text(1) == (isLong ? text : "s"))
                #expect(row.optionalBytes(2) == (isLong ? bytes : nil))
                seen += 1
            }
            #expect(seen == 6)
        }
    }

    @Test("Empty text, empty bytes and NULL are distinct")
    func emptyValues() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        try connection.query(
            "SELECT CAST(? AS CHAR), CAST(? AS BINARY), ?, ?", [.text(""), .bytes([]), .null, .int(.min)]
        ) {
            (row) throws(MariaDBError) in
            #expect(row.optionalText(0) == "")
            #expect(row.optionalBytes(1) == [])
            #expect(row.withText(0) { $0?.byteCount } == 0)
            #expect(row.isNull(2) == true)
            #expect(try row.int(3) == .min)
        }
    }

    @Test("A statement is prepared once per connection, however often it runs")
    func statementCache() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        for number in Int64(0)..<50 {
            try connection.query("SELECT ?", [.int(number)]) { (row) throws(MariaDBError) in
                #expect(try row.int(0) == number)
            }
        }
        #expect(connection.preparedStatementCount == 1)
    }

    @Test("A statement composed of columns is also prepared only once; a different list is a different statement")
    func composed() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        try connection.executeScript("CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, name TEXT, note TEXT)")
        let lists: [ColumnList] = [["id", "name"], ["id", "name"] + ["note"]]

        for number in Int64(1)...3 {
            let row: ColumnValues = ["id": .int(number), "name": .text("n")]
            try connection.execute("INSERT INTO item (\(row.columns)) VALUES (\(valuesOf: row.columns))", row.values)
            for list in lists {
                try connection.query("SELECT \(list, of: "i") FROM item i WHERE id = ?", [.int(number)]) {
                    (row) throws(MariaDBError) in
                    #expect(try row.text(1) == "n")
                    #expect(row.columnCount == (list == lists[0] ? 2 : 3))
                }
            }
        }
        let rest = ["note": .text("x")] + ColumnValues.nulls(["name"])
        let changed = try connection.execute(
            "UPDATE item i SET \(assigning: rest.columns, of: "i"), id = id + 1 WHERE id = ?", rest.values + [.int(3)])

        #expect(changed.affectedRows == 1)
        #expect(connection.preparedStatementCount == 4)
        try connection.query("SELECT \(lists[1]) FROM item WHERE name IS NULL") { (row) throws(MariaDBError) in
            #expect(try row.int(0) == 4)
            #expect(try row.text(2) == "x")
        }
    }

    @Test("Columns are found by name, including those of one of several tables and those returned by DELETE")
    func names() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        try connection.executeScript(
            """
            CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, parent_id BIGINT, name TEXT);
            INSERT INTO item VALUES (1, NULL, 'root'), (2, 1, 'leaf')
            """)

        try connection.query(
            """
            SELECT child.id, child.name, parent.id, parent.name AS title, COUNT(*) AS number
              FROM item child
              JOIN item parent ON parent.id = child.parent_id
             GROUP BY child.id
            """
        ) { (row) throws(MariaDBError) in
            #expect(try row.int(row.position(of: "id")) == 2)
            let parent = row.columns(of: "parent")
            #expect(try parent.int(parent.position(of: "id")) == 1)
            #expect(try parent.text(parent.position(of: "title")) == "root")
            #expect(try row.int(row.position(of: "number")) == 1)
            #expect(row.origin(of: 3) == ("item", "name"))
            #expect(row.origin(of: 4).column == "number")
            #expect(throws: MariaDBError.self) { try parent.position(of: "number") }
            #expect(throws: MariaDBError.self) { try row.position(of: "Name") }
        }
        try connection.query("DELETE FROM item WHERE id = 2 RETURNING name, id") { (row) throws(MariaDBError) in
            #expect(try row.int(row.position(of: "id")) == 2)
            #expect(row.origin(of: 0) == ("item", "name"))
        }
    }

    @Test("When the row closure throws, the rest is discarded and the connection stays usable")
    func stoppedByClosure() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        var rows = 0
        #expect(throws: MariaDBError.poolExhausted) {
            try connection.query("SELECT seq, REPEAT('x', 2000) FROM seq_1_to_5000") { (_) throws(MariaDBError) in
                rows += 1
                if rows == 3 { throw .poolExhausted }
            }
        }
        #expect(rows == 3)
        #expect(connection.isUsable == true)
        rows = 0
        try connection.query("SELECT seq, REPEAT('x', 2000) FROM seq_1_to_5000") { (_) throws(MariaDBError) in rows += 1
        }
        #expect(rows == 5000)
    }

    @Test("A wrong number of values is a programming error, and the connection stays usable")
    func wrongNumberOfValues() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        #expect(throws: MariaDBError.self) { try connection.execute("DO ?", []) }
        try connection.execute("DO ?", [.int(1)])
    }

    @Test("A table altered after a statement was prepared is read with its new definition")
    func alteredTable() throws {
        let settings = try ScratchDatabase.shared().makeDatabase()
        var connection = try Connection(settings)
        var other = try Connection(settings)
        try connection.executeScript("CREATE TABLE item (id INT PRIMARY KEY, name INT); INSERT INTO item VALUES (1, 7)")
        func read(_ connection: inout Connection) throws -> String {
            var text = ""
            try connection.query("SELECT name FROM item") { (row) throws(MariaDBError) in text = try row.text(0) }
            return text
        }
        #expect(try read(&connection) == "7")
        try other.executeScript("ALTER TABLE item MODIFY name VARCHAR(4000); UPDATE item SET name = REPEAT('y', 3000)")
        #expect(try read(&connection) == String(repeating: "y", count: 3000))
    }

    @Test("A script runs statement after statement, and stops at the first failure")
    func script() throws {
        var connection = try Connection(ScratchDatabase.shared().makeDatabase())
        #expect(throws: MariaDBError.self) {
            try connection.executeScript("CREATE TABLE a (x INT); SELECT 1; NONSENSE; CREATE TABLE b (x INT)")
        }
        var tables: [String] = []
        try connection.query("SHOW TABLES") { (row) throws(MariaDBError) in tables.append(try row.text(0)) }
        #expect(tables == ["a"])
        // Multiple statements at once are permitted only in scripts.
        #expect(throws: MariaDBError.self) { try connection.execute("DO 1; DO 2") }
    }
}
