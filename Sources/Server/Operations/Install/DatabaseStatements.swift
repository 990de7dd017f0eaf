/// SQL that only an administrator can run: it creates the database with its accounts, and removes them. These
/// statements do not accept bound values, so names and passwords are quoted.
public struct DatabaseStatements: Sendable {
    /// An account of the database, with its password.
    public struct Account: Sendable {
        public var user: String
        public var password: String

        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// MariaDB's own accounts, which a configuration may name but no removal may drop.
    static let administrators: Set<String> = ["root", "mysql", "mariadb.sys"]

    private let name: String
    private let owner: String
    private let host: String

    /// - Parameters:
    ///   - database: the database's name.
    ///   - owner: the user with all rights in it.
    ///   - isLocal: whether connections use this host's socket; TCP connections may come from any host.
    public init(database: String, owner: String, isLocal: Bool) {
        name = database
        self.owner = owner
        host = isLocal ? "localhost" : "%"
    }

    /// - Parameter answers: without ``SetupAnswers/problems()``.
    public init(_ answers: SetupAnswers) {
        let isLocal = if case .socket = answers.database { true } else { false }
        self.init(database: answers.databaseName, owner: answers.databaseUser, isLocal: isLocal)
    }

    public var createDatabase: String {
        "CREATE DATABASE IF NOT EXISTS \(Self.identifier(name)) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    }

    /// Creates the owner together with its privileges, so that neither exists without the other. An existing owner gets
    /// this password.
    public func createOwner(password: String) -> String {
        "GRANT ALL PRIVILEGES ON \(pattern).* TO \(account(owner)) IDENTIFIED BY \(Self.quoted(password))"
    }

    /// Creates the accounts of the roles, without privileges yet, and lets the owner grant privileges in its own
    /// database: `syncctl migrate` grants each role the privileges that it needs when the tables change. An existing
    /// account keeps its password.
    public func createRoles(_ roles: [Account]) -> String {
        let accounts = roles.map {
            "CREATE USER IF NOT EXISTS \(account($0.user)) IDENTIFIED BY \(Self.quoted($0.password))"
        }
        return (accounts + ["GRANT USAGE ON \(pattern).* TO \(account(owner)) WITH GRANT OPTION"])
            .joined(separator: ";\n")
    }

    /// Drops the database, the owner, and the accounts of the roles, one statement per line.
    public func removal(roles: [String]) -> [String] {
        let users = Set(roles + [owner]).subtracting(Self.administrators).sorted()
        return ["DROP DATABASE IF EXISTS \(Self.identifier(name));"]
            + users.map { "DROP USER IF EXISTS \(account($0));" }
    }

    private func account(_ user: String) -> String { "\(Self.quoted(user))@'\(host)'" }

    /// The database name as a pattern for grants, in which `_` and `%` match other characters unless they are escaped.
    private var pattern: String {
        Self.identifier(name.map { $0 == "_" || $0 == "%" ? "\\\($0)" : String($0) }.joined())
    }

    private static func identifier(_ name: String) -> String {
        "`" + name.map { $0 == "`" ? "``" : String($0) }.joined() + "`"
    }

    /// A text as an SQL literal, for sessions without NO_BACKSLASH_ESCAPES, such as ours.
    private static func quoted(_ text: String) -> String {
        var result = "'"
        for character in text.unicodeScalars {
            if character == "'" || character == "\\" { result += "\\" }
            result.unicodeScalars.append(character)
        }
        return result + "'"
    }
}
