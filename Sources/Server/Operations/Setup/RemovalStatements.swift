/// SQL that undoes what setup made in the database of this host: for the package's purge, whose scripts run when the
/// programs are gone.
public struct RemovalStatements: Sendable {
    /// Accounts of MariaDB itself, which a configuration may name but no purge may drop.
    private static let administrators: Set<String> = ["root", "mysql", "mariadb.sys"]

    private let database: String
    private let accounts: [String]

    /// - Parameters:
    ///   - database: its name.
    ///   - accounts: the users of the configuration, all of them local.
    public init(database: String, accounts: [String]) {
        self.database = database
        self.accounts = Set(accounts).subtracting(Self.administrators).sorted()
    }

    /// The statements.
    public var lines: [String] {
        let name = database.split(separator: "`", omittingEmptySubsequences: false).joined(separator: "``")
        return ["DROP DATABASE IF EXISTS `\(name)`;"]
            + accounts.map { "DROP USER IF EXISTS \(DatabaseStatements.quoted($0))@'localhost';" }
    }
}
