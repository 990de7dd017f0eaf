import Operations
import Testing

@Suite("SQL for the database's administrator")
struct DatabaseStatementsTests {
    @Test("Passwords are quoted, and _ in a grant is escaped; TCP users may connect from any host")
    func grants() {
        var answers = SetupAnswers()
        answers.databaseName = "sync_a"

        #expect(
            DatabaseStatements(answers).createOwner(password: #"it's \ "x""#)
                == #"GRANT ALL PRIVILEGES ON `sync\_a`.* TO 'syncd'@'localhost' IDENTIFIED BY 'it\'s \\ "x"'"#)
        answers.database = .tcp(host: "db", port: 3_306)
        #expect(DatabaseStatements(answers).createOwner(password: "p").contains("TO 'syncd'@'%' "))
    }

    @Test("Names cannot break out of their statements")
    func names() {
        let statements = DatabaseStatements(database: "a_`b'%", owner: "o'wner", isLocal: true)

        #expect(statements.createDatabase.contains("EXISTS `a_``b'%` CHARACTER"))
        #expect(statements.createOwner(password: "p").contains(#"ON `a\_``b'\%`.* TO 'o\'wner'@'localhost'"#))
        #expect(
            statements.createRoles([.init(user: #"r\o"#, password: "r")]) == #"""
                CREATE USER IF NOT EXISTS 'r\\o'@'localhost' IDENTIFIED BY 'r';
                GRANT USAGE ON `a\_``b'\%`.* TO 'o\'wner'@'localhost' WITH GRANT OPTION
                """#)
        #expect(
            statements.removal(roles: []) == [
                "DROP DATABASE IF EXISTS `a_``b'%`;", #"DROP USER IF EXISTS 'o\'wner'@'localhost';"#,
            ])
    }

    @Test("The database and each account are dropped once, but none of MariaDB's own accounts")
    func removal() {
        let statements = DatabaseStatements(database: "sync", owner: "syncd", isLocal: true)

        #expect(
            statements.removal(roles: ["syncd_api", "syncd", "root"]) == [
                "DROP DATABASE IF EXISTS `sync`;",
                "DROP USER IF EXISTS 'syncd'@'localhost';",
                "DROP USER IF EXISTS 'syncd_api'@'localhost';",
            ])
    }
}
