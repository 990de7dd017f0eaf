import Operations
import Testing

@Suite("What purge drops")
struct RemovalStatementsTests {
    @Test("The database and each account of the configuration once, but none of MariaDB's own")
    func statements() {
        let statements = RemovalStatements(database: "sync", accounts: ["syncd", "syncd_api", "syncd", "root"])

        #expect(
            statements.lines == [
                "DROP DATABASE IF EXISTS `sync`;",
                "DROP USER IF EXISTS 'syncd'@'localhost';",
                "DROP USER IF EXISTS 'syncd_api'@'localhost';",
            ])
    }

    @Test("Names cannot end the statement that they are in")
    func quoting() {
        let statements = RemovalStatements(database: "a`b", accounts: ["o'neill"])

        #expect(
            statements.lines == [
                "DROP DATABASE IF EXISTS `a``b`;",
                "DROP USER IF EXISTS 'o\\'neill'@'localhost';",
            ])
    }
}
