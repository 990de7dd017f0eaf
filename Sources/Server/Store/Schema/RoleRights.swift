public import MariaDB
public import SyncProtocol

/// A right on a table of the database, as GRANT names it.
public enum TableRight: String, CaseIterable, Comparable, Sendable {
    case select = "SELECT"
    case insert = "INSERT"
    case update = "UPDATE"
    case delete = "DELETE"

    public static func < (left: TableRight, right: TableRight) -> Bool { left.rawValue < right.rawValue }
}

/// The rights of each server role on each table, if the roles have separate accounts: only those that some statement of
/// the role needs. `syncctl migrate` grants them, `syncctl doctor` compares them, and the test stack runs with nothing
/// else.
///
/// Only reading columns, locking rows (`FOR UPDATE`) and `INSERT … ON DUPLICATE KEY UPDATE` need attention: the first
/// two require SELECT, the last requires INSERT and UPDATE.
public enum RoleRights {
    /// The rights of one role on one table; none if the role does not use it.
    /// - Parameter isRebuilding: whether the database is being rebuilt from manifests.
    public static func rights(
        of role: ServerRole, to table: String, isRebuilding: Bool = false
    ) -> Set<TableRight> {
        guard let row = rows.first(where: { $0.table == table }) else { return [] }
        return switch role {
        case .api: row.api
        case .transfer: row.transfer
        case .jobs: isRebuilding ? row.jobs.union(rebuilding[table] ?? none) : row.jobs
        }
    }

    /// The additional rights of the jobs role during a rebuild, in which it restores groups with their members.
    private static let rebuilding: [String: Set<TableRight>] = [
        "users": all, "sharing_groups": write, "memberships": all, "files": write,
    ]

    /// All tables of the schema, including those that no role may access; a test compares them with the database.
    public static var tables: [String] { rows.map(\.table) }

    private static let none: Set<TableRight> = []
    private static let read: Set<TableRight> = [.select]
    private static let append: Set<TableRight> = [.select, .insert]
    private static let change: Set<TableRight> = [.select, .update]
    private static let write: Set<TableRight> = [.select, .insert, .update]
    private static let expire: Set<TableRight> = [.select, .delete]
    private static let all = Set(TableRight.allCases)

    private typealias Row = (table: String, api: Set<TableRight>, transfer: Set<TableRight>, jobs: Set<TableRight>)

    private static let rows: [Row] = [
        ("schema_migrations", api: read, transfer: read, jobs: read),
        ("schema_lease", api: none, transfer: none, jobs: none),
        // All roles renew tokens and find folders; users are added and removed by the api.
        ("users", api: all, transfer: change, jobs: change),
        ("departed_users", api: all, transfer: none, jobs: [.select, .update, .delete]),
        // Each role that recognizes callers informs those with a retired account.
        ("retired_accounts", api: all, transfer: read, jobs: expire),
        ("device_grants", api: all, transfer: none, jobs: expire),
        // The jobs role finishes a switch after it has moved its files.
        ("account_switches", api: all, transfer: none, jobs: [.select, .update, .delete]),
        // Where files were before a switch: for its undo, until the switch is final.
        ("former_contents", api: [.select, .insert, .delete], transfer: none, jobs: expire),
        ("former_owners", api: append, transfer: none, jobs: expire),
        // Downloads read from former accounts, and renew their tokens; a file that has bytes again leaves its move.
        ("account_moves", api: all, transfer: change, jobs: [.select, .update, .delete]),
        ("moving_contents", api: all, transfer: expire, jobs: [.select, .update, .delete]),
        ("devices", api: all, transfer: write, jobs: none),
        ("sharing_groups", api: write, transfer: change, jobs: change),
        ("memberships", api: all, transfer: read, jobs: read),
        ("invitations", api: all, transfer: none, jobs: expire),
        // A deleted file keeps its row.
        ("files", api: write, transfer: write, jobs: change),
        ("staged_changes", api: all, transfer: all, jobs: [.select, .update, .delete]),
        ("batches", api: all, transfer: all, jobs: expire),
        ("commits", api: [.select, .insert, .delete], transfer: append, jobs: expire),
        ("commit_members", api: [.select, .insert, .delete], transfer: append, jobs: expire),
        ("resumable_uploads", api: all, transfer: all, jobs: [.select, .update, .delete]),
        ("outbox", api: all, transfer: all, jobs: all),
        // Codes arrive with any request that has to sign in.
        ("exchanged_codes", api: all, transfer: all, jobs: expire),
        ("quota_windows", api: write, transfer: write, jobs: expire),
        ("apple_notices", api: append, transfer: none, jobs: expire),
        ("push_registrations", api: all, transfer: none, jobs: [.select, .update, .delete]),
        ("content_hashes", api: expire, transfer: write, jobs: all),
        // The jobs role writes pages, the api deletes their records with their users.
        ("index_pages", api: expire, transfer: none, jobs: all),
        ("manifests", api: expire, transfer: none, jobs: all),
        ("manifest_keys", api: read, transfer: none, jobs: append),
        ("manifest_scans", api: none, transfer: none, jobs: write),
        ("manifest_members", api: expire, transfer: none, jobs: [.select, .insert, .delete]),
        // Only syncctl rebuild writes `rebuilds`. The api role records visits and recognises members; the jobs role
        // reads the folders.
        ("rebuilds", api: read, transfer: read, jobs: read),
        ("rebuild_visits", api: [.select, .insert, .delete], transfer: read, jobs: change),
        ("rebuild_groups", api: read, transfer: read, jobs: all),
        ("rebuild_members", api: [.select, .update, .delete], transfer: none, jobs: all),
        ("rebuild_files", api: none, transfer: none, jobs: all),
        ("rebuild_claims", api: expire, transfer: read, jobs: [.select, .insert, .update]),
        ("rebuild_awaited", api: [.select, .update, .delete], transfer: read, jobs: all),
        // Downloads write it, the jobs role removes old rows.
        ("gone_contents", api: none, transfer: write, jobs: expire),
        // Each process keeps its own row; the jobs role removes those of dead ones.
        ("key_holders", api: all, transfer: all, jobs: all),
        // Each role records its commits for other hosts; the jobs role reads what they have recorded.
        ("change_signals", api: [.insert], transfer: [.insert], jobs: [.select, .insert, .delete]),
        // Only syncctl fsck and restore write and read these.
        ("cloud_checks", api: none, transfer: none, jobs: none),
        ("restorations", api: none, transfer: none, jobs: none),
        // Only syncctl import writes these, and only syncctl reads them.
        ("imported_users", api: none, transfer: none, jobs: none),
        ("imported_groups", api: none, transfer: none, jobs: none),
    ]
}

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
    /// - Parameter isRebuilding: whether to compare the rights with those during a rebuild; `nil` to query the database
    ///   for a rebuild in progress.
    /// - Throws: ``StoreError``.
    public init(
        of role: ServerRole, _ settings: ConnectionSettings, isRebuilding: Bool? = nil
    ) throws(StoreError) {
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
            let isRebuilding = isRebuilding ?? Self.isRebuilding(settings, present)
            let wanted = Set(
                RoleRights.tables.flatMap { table in
                    RoleRights.rights(of: role, to: table, isRebuilding: isRebuilding).map { Grant($0, table) }
                })
            self.account = account
            missing = wanted.subtracting(present).sorted()
            surplus = present.subtracting(wanted).sorted()
            self.wider = wider.sorted()
        } catch {
            throw StoreError(error)
        }
    }

    /// Whether the database is being rebuilt; false if the account may not read that.
    private static func isRebuilding(_ settings: ConnectionSettings, _ present: Set<Grant>) -> Bool {
        guard present.contains(Grant(.select, "rebuilds")), var connection = try? Connection(settings) else {
            return false
        }
        var isOn = false
        try? connection.query("SELECT 1 FROM rebuilds WHERE ended_at IS NULL") { _ throws(MariaDBError) in isOn = true }
        return isOn
    }

    /// Grants missing rights and revokes surplus ones, table by table; may be repeated.
    ///
    /// Rights beyond tables are left: the administrator who granted them must revoke them.
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
