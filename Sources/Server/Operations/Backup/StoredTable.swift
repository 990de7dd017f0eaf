import MariaDB

/// The tables that a backup must contain, in the order in which their rows can be inserted.
///
/// Not included: the bookkeeping of migrations, which a restored database creates itself.
public enum StoredTable: String, CaseIterable, Sendable, Codable {
    case users
    case departedUsers = "departed_users"
    case retiredAccounts = "retired_accounts"
    case deviceGrants = "device_grants"
    case accountSwitches = "account_switches"
    case accountMoves = "account_moves"
    case movingContents = "moving_contents"
    case formerContents = "former_contents"
    case formerOwners = "former_owners"
    case devices
    case sharingGroups = "sharing_groups"
    case memberships
    case invitations
    case files
    case stagedChanges = "staged_changes"
    case batches
    case commits
    case commitMembers = "commit_members"
    case outbox
    case exchangedCodes = "exchanged_codes"
    case quotaWindows = "quota_windows"
    case appleNotices = "apple_notices"
    case pushRegistrations = "push_registrations"
    case contentHashes = "content_hashes"
    case indexPages = "index_pages"
    case goneContents = "gone_contents"
    case restorations
    case importedUsers = "imported_users"
    case importedGroups = "imported_groups"

    /// Tables that are recreated with the schema, and tables that concern only one database. An upload in pieces starts
    /// again after a restore, because its session has continued since the backup.
    static let bookkeeping = [
        "schema_migrations", "schema_lease", "cloud_checks", "key_holders", "resumable_uploads",
    ]

    /// All rows in the order of the primary key, so that two backups of the same rows are identical.
    var rows: SQL {
        switch self {
        case .users: "SELECT * FROM users ORDER BY user_id"
        case .departedUsers: "SELECT * FROM departed_users ORDER BY user_id"
        case .retiredAccounts: "SELECT * FROM retired_accounts ORDER BY account_type, provider_user_id"
        case .deviceGrants: "SELECT * FROM device_grants ORDER BY grant_hash"
        case .accountSwitches: "SELECT * FROM account_switches ORDER BY switch_uuid"
        case .accountMoves: "SELECT * FROM account_moves ORDER BY switch_uuid"
        case .movingContents: "SELECT * FROM moving_contents ORDER BY switch_uuid, sharing_group_id, file_uuid"
        case .formerContents: "SELECT * FROM former_contents ORDER BY switch_uuid, sharing_group_id, file_uuid"
        case .formerOwners: "SELECT * FROM former_owners ORDER BY switch_uuid, sharing_group_id"
        case .devices: "SELECT * FROM devices ORDER BY user_id, device_uuid"
        case .sharingGroups: "SELECT * FROM sharing_groups ORDER BY sharing_group_id"
        case .memberships: "SELECT * FROM memberships ORDER BY sharing_group_id, user_id"
        case .invitations: "SELECT * FROM invitations ORDER BY invitation_uuid"
        case .files: "SELECT * FROM files ORDER BY sharing_group_id, file_uuid"
        case .stagedChanges:
            "SELECT * FROM staged_changes ORDER BY user_id, device_uuid, sharing_group_id, file_uuid"
        case .batches: "SELECT * FROM batches ORDER BY user_id, device_uuid, sharing_group_id, batch_uuid"
        case .commits: "SELECT * FROM commits ORDER BY user_id, device_uuid, sharing_group_id, commit_id"
        case .commitMembers:
            "SELECT * FROM commit_members ORDER BY user_id, device_uuid, sharing_group_id, commit_id, file_uuid"
        case .outbox: "SELECT * FROM outbox ORDER BY outbox_id"
        case .exchangedCodes: "SELECT * FROM exchanged_codes ORDER BY code_hash"
        case .quotaWindows: "SELECT * FROM quota_windows ORDER BY account_hash, quota"
        case .appleNotices: "SELECT * FROM apple_notices ORDER BY identifier_hash"
        case .pushRegistrations: "SELECT * FROM push_registrations ORDER BY registration_id"
        case .contentHashes: "SELECT * FROM content_hashes ORDER BY user_id, object_id"
        case .indexPages: "SELECT * FROM index_pages ORDER BY user_id"
        case .goneContents: "SELECT * FROM gone_contents ORDER BY sharing_group_id, file_uuid, reason"
        case .restorations: "SELECT * FROM restorations ORDER BY backup_taken_at, restored_at"
        case .importedUsers: "SELECT * FROM imported_users ORDER BY source_user_id"
        case .importedGroups: "SELECT * FROM imported_groups ORDER BY sharing_group_id"
        }
    }

    /// Whether there is at least one row.
    var anyRow: SQL {
        switch self {
        case .users: "SELECT 1 FROM users LIMIT 1"
        case .departedUsers: "SELECT 1 FROM departed_users LIMIT 1"
        case .retiredAccounts: "SELECT 1 FROM retired_accounts LIMIT 1"
        case .deviceGrants: "SELECT 1 FROM device_grants LIMIT 1"
        case .accountSwitches: "SELECT 1 FROM account_switches LIMIT 1"
        case .accountMoves: "SELECT 1 FROM account_moves LIMIT 1"
        case .movingContents: "SELECT 1 FROM moving_contents LIMIT 1"
        case .formerContents: "SELECT 1 FROM former_contents LIMIT 1"
        case .formerOwners: "SELECT 1 FROM former_owners LIMIT 1"
        case .devices: "SELECT 1 FROM devices LIMIT 1"
        case .sharingGroups: "SELECT 1 FROM sharing_groups LIMIT 1"
        case .memberships: "SELECT 1 FROM memberships LIMIT 1"
        case .invitations: "SELECT 1 FROM invitations LIMIT 1"
        case .files: "SELECT 1 FROM files LIMIT 1"
        case .stagedChanges: "SELECT 1 FROM staged_changes LIMIT 1"
        case .batches: "SELECT 1 FROM batches LIMIT 1"
        case .commits: "SELECT 1 FROM commits LIMIT 1"
        case .commitMembers: "SELECT 1 FROM commit_members LIMIT 1"
        case .outbox: "SELECT 1 FROM outbox LIMIT 1"
        case .exchangedCodes: "SELECT 1 FROM exchanged_codes LIMIT 1"
        case .quotaWindows: "SELECT 1 FROM quota_windows LIMIT 1"
        case .appleNotices: "SELECT 1 FROM apple_notices LIMIT 1"
        case .pushRegistrations: "SELECT 1 FROM push_registrations LIMIT 1"
        case .contentHashes: "SELECT 1 FROM content_hashes LIMIT 1"
        case .indexPages: "SELECT 1 FROM index_pages LIMIT 1"
        case .goneContents: "SELECT 1 FROM gone_contents LIMIT 1"
        case .restorations: "SELECT 1 FROM restorations LIMIT 1"
        case .importedUsers: "SELECT 1 FROM imported_users LIMIT 1"
        case .importedGroups: "SELECT 1 FROM imported_groups LIMIT 1"
        }
    }
}

/// A column of a table, as a backup describes it.
public struct StoredColumn: Equatable, Sendable, Codable {
    public enum Kind: String, Sendable, Codable {
        case integer
        /// Includes dates and enumeration values.
        case text
        case bytes
    }

    public var name: String
    public var kind: Kind

    public init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }
}

/// One value of a row.
public enum StoredValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
}

/// Why rows cannot be restored.
public enum RestoreError: Error, Equatable, CustomStringConvertible {
    /// The database is not empty.
    case databaseNotEmpty(table: String)
    /// The database has a table that does not belong to this server.
    case foreignTable(String)
    /// The backup has a column that its schema version does not have.
    case unknownColumn(table: String, column: String)

    public var description: String {
        switch self {
        case .databaseNotEmpty(let table):
            "the database is not empty: it has rows in \(table); a backup can only be restored into an empty database"
        case .foreignTable(let table): "the database has a table that does not belong to this server: \(table)"
        case .unknownColumn(let table, let column): "the schema has no column \(column) in \(table)"
        }
    }
}
