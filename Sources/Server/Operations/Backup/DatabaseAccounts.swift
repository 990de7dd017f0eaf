/// The database of a configuration and its accounts, as statements for MariaDB's administrator: for a host on which the
/// configuration is there before them.
public struct DatabaseAccounts: Sendable {
    /// An account, with the password that the configuration has for it.
    public struct Account: Sendable {
        public var user: String
        public var password: String

        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    private let database: String
    private let owner: Account
    private let roles: [Account]

    /// - Parameter roles: accounts beside the owner's, whose privileges the owner grants (`syncctl migrate`).
    public init(database: String, owner: Account, roles: [Account]) {
        self.database = database
        self.owner = owner
        self.roles = roles
    }

    /// Creates what is missing. Accounts are of this host: connections come by the unix socket. The owner gets the password
    /// of the configuration; an account of a role that exists keeps its own.
    public var script: String {
        let name = Self.identifier(database)
        // In a grant, `_` and `%` match other characters, unless they are escaped.
        let pattern = Self.identifier(
            database.map { $0 == "_" || $0 == "%" ? "\\\($0)" : String($0) }.joined())
        let grant = roles.isEmpty ? "" : " WITH GRANT OPTION"
        let statements =
            [
                "CREATE DATABASE IF NOT EXISTS \(name) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                "GRANT ALL PRIVILEGES ON \(pattern).* TO \(Self.account(owner.user)) IDENTIFIED BY "
                    + "\(DatabaseStatements.quoted(owner.password))\(grant)",
            ]
            + roles.map {
                "CREATE USER IF NOT EXISTS \(Self.account($0.user)) IDENTIFIED BY "
                    + DatabaseStatements.quoted($0.password)
            }
        return statements.joined(separator: ";\n")
    }

    private static func account(_ user: String) -> String { "\(DatabaseStatements.quoted(user))@'localhost'" }

    private static func identifier(_ name: String) -> String {
        "`" + name.map { $0 == "`" ? "``" : String($0) }.joined() + "`"
    }
}
