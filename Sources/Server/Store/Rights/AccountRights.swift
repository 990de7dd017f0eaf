public import MariaDB
public import SyncProtocol

/// The rights that a role's database account has, compared with its required rights (``RoleRights``).
public struct AccountRights: Equatable, Sendable {
    /// One right on one table.
    public struct Grant: Hashable, Comparable, Sendable, CustomStringConvertible {
        public var right: TableRight
        public var table: String

        public init(_ right: TableRight, _ table: String) {
            self.right = right
            self.table = table
        }

        public static func < (left: Grant, right: Grant) -> Bool {
            (left.table, left.right) < (right.table, right.right)
        }

        public var description: String { "\(right.rawValue) on \(table)" }
    }

    /// The account as the database knows it, such as `syncd_api@localhost`.
    public var account: String
    /// Missing rights, without which some statement of the role fails.
    public var missing: [Grant]
    /// Rights on tables that the role does not need.
    public var surplus: [Grant]
    /// Rights beyond those on tables of this database, as GRANT names them: on whole databases, or on the server.
    public var wider: [String]

    public var areExact: Bool { missing.isEmpty && surplus.isEmpty && wider.isEmpty }

    /// Queries the database, with that account, for its rights.
    /// - Throws: ``StoreError``.
    public init(of role: ServerRole, _ settings: ConnectionSettings) throws(StoreError) {
        do throws(MariaDBError) {
            // An account without any right cannot even select the database.
            var server = settings
            server.database = nil
            var connection = try Connection(server)
            var account = ""
            try connection.query("SELECT CURRENT_USER()") { row throws(MariaDBError) in account = try row.text(0) }
            var present: Set<Grant> = []
            var wider: [String] = []
            try connection.query(
                """
                SELECT table_name, privilege_type, table_schema <=> ?
                  FROM information_schema.TABLE_PRIVILEGES
                 WHERE grantee = CONCAT('''', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), '''@''',
                                        SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')
                """, [.text(orNull: settings.database)]
            ) { row throws(MariaDBError) in
                let (table, word) = (try row.text(0), try row.text(1))
                if try row.int(2) == 1, let right = TableRight(rawValue: word) {
                    present.insert(Grant(right, table))
                } else {
                    wider.append("\(word) on \(table)")
                }
            }
            try connection.query(
                """
                SELECT CONCAT(privilege_type, ' on the database ', table_schema)
                  FROM information_schema.SCHEMA_PRIVILEGES
                 WHERE grantee = CONCAT('''', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), '''@''',
                                        SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')
                 UNION ALL
                SELECT CONCAT(privilege_type, ' on the server')
                  FROM information_schema.USER_PRIVILEGES
                 WHERE privilege_type <> 'USAGE'
                   AND grantee = CONCAT('''', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), '''@''',
                                        SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')
                """
            ) { row throws(MariaDBError) in wider.append(try row.text(0)) }
            let wanted = Set(
                RoleRights.tables.flatMap { table in
                    RoleRights.rights(of: role, to: table).map { Grant($0, table) }
                })
            self.account = account
            missing = wanted.subtracting(present).sorted()
            surplus = present.subtracting(wanted).sorted()
            self.wider = wider.sorted()
        } catch {
            throw StoreError(error)
        }
    }

    /// Grants missing rights and revokes surplus ones, table by table; may be repeated.
    ///
    /// Rights beyond tables stay: the administrator who granted them must revoke them.
    /// - Parameter owner: an account that may grant rights in this database.
    /// - Returns: whether anything was changed.
    /// - Throws: ``StoreError``.
    public func settle(as owner: ConnectionSettings) throws(StoreError) -> Bool {
        guard !missing.isEmpty || !surplus.isEmpty else { return false }
        let account = Self.quoted(account)
        do throws(MariaDBError) {
            var connection = try Connection(owner)
            for grant in missing {
                try connection.executeScript("GRANT \(grant.right.rawValue) ON `\(grant.table)` TO \(account)")
            }
            for grant in surplus {
                try connection.executeScript("REVOKE \(grant.right.rawValue) ON `\(grant.table)` FROM \(account)")
            }
        } catch {
            throw StoreError(error)
        }
        return true
    }

    /// `name@host` as SQL; neither part contains an `@`, and quotation marks are doubled.
    private static func quoted(_ account: String) -> String {
        account.split(separator: "@", omittingEmptySubsequences: false)
            .map { "'" + $0.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'" }
            .joined(separator: "@")
    }
}
