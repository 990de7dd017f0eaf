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
    public static func rights(of role: ServerRole, to table: String) -> Set<TableRight> {
        guard let row = rows.first(where: { $0.table == table }) else { return [] }
        return switch role {
        case .api: row.api
        case .transfer: row.transfer
        case .jobs: row.jobs
        }
    }

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
        // Downloads write it, the jobs role removes old rows.
        ("gone_contents", api: none, transfer: write, jobs: expire),
        // Each process keeps its own row; the jobs role removes those of dead ones.
        ("key_holders", api: all, transfer: all, jobs: all),
        // Only syncctl fsck and restore write and read these.
        ("cloud_checks", api: none, transfer: none, jobs: none),
        ("restorations", api: none, transfer: none, jobs: none),
        // Only syncctl import writes these, and only syncctl reads them.
        ("imported_users", api: none, transfer: none, jobs: none),
        ("imported_groups", api: none, transfer: none, jobs: none),
    ]
}
