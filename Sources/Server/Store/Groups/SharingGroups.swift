import MariaDB
public import SyncProtocol

/// The number of a sharing group; used only inside the server.
public struct SharingGroupID: Hashable, Sendable {
    public let rawValue: Int64
    package init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// The user whose storage receives a member's new files.
public struct OwningUser: Equatable, Sendable {
    public var userID: UserID
    public var storageType: CloudStorageType

    public init(userID: UserID, storageType: CloudStorageType) {
        self.userID = userID
        self.storageType = storageType
    }
}

/// A sharing group as one of its members sees it.
public struct Membership: Equatable, Sendable {
    public var groupID: SharingGroupID
    /// In the creator's spelling.
    public var groupUUID: SharingGroupUUID
    public var groupName: String?
    public var masterVersion: MasterVersion
    /// The member's effective permission; while the group is being restored, at most `read`.
    public var permission: Permission
    /// The user whose storage receives the member's new files: the member, or the user who invited them; `nil` if that
    /// user has left.
    public var owningUser: OwningUser?
    /// The invitation through which the member joined; `nil` for the group's creator.
    public var invitation: SharingInvitationUUID?
    /// How often bytes of the group's files were uploaded again after their owner switched accounts.
    public var reuploads: Int64 = 0
}

/// The outcome of an attempt to advance a group's master version.
public enum MasterVersionAdvance: Equatable, Sendable {
    case advanced(to: MasterVersion)
    /// Another change was committed first; nothing was changed.
    case stale(current: MasterVersion)
}

extension Membership {
    /// The columns that ``init(_:)`` reads, of the group `g`, the membership `m` and the user `o` who owns the member's
    /// new files.
    static let columns: ColumnList = [
        "g.sharing_group_id", "g.sharing_group_uuid", "g.name", "g.master_version", "g.reuploads", "g.is_restoring",
        "m.permission", "m.invitation_uuid", "o.user_id", "o.account_type",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        let group = row.columns(of: "g")
        groupID = SharingGroupID(try group.number("sharing_group_id"))
        groupUUID = try group.identifier("sharing_group_uuid")
        groupName = try group.optionalString("name")
        masterVersion = MasterVersion(try group.number("master_version"))
        reuploads = try group.number("reuploads")
        let membership = row.columns(of: "m")
        let permission = try membership.permission("permission")
        self.permission = try group.flag("is_restoring") ? min(permission, .read) : permission
        invitation = try membership.optionalIdentifier("invitation_uuid")
        let owner = row.columns(of: "o")
        if let userID = try owner.optionalNumber("user_id") {
            guard let storageType = try owner.word("account_type", as: AccountType.self).cloudStorageType else {
                throw .corrupt(table: "memberships", column: "owning_user_id")
            }
            owningUser = OwningUser(userID: UserID(userID), storageType: storageType)
        }
    }
}

extension Membership {
    /// The tables of ``columns``: group `g`, membership `m`, its user `u`, and the owner `o` of their uploads.
    fileprivate static let tables: SQL = """
        sharing_groups g
        JOIN memberships m ON m.sharing_group_id = g.sharing_group_id
        JOIN users u ON u.user_id = m.user_id
        LEFT JOIN users o ON o.user_id = IF(u.account_type IN (\(SQL.owningAccountTypes)),
                                            u.user_id, m.owning_user_id)
        """
}

extension StoreSession {
    /// The caller's membership in a group; `nil` if they are not a member, or the group is deleted or does not exist.
    public mutating func membership(
        of userID: UserID, in group: SharingGroupUUID
    ) throws(StoreError) -> Membership? {
        try first(
            """
            SELECT \(Membership.columns)
              FROM \(Membership.tables)
             WHERE g.sharing_group_uuid = ?
               AND NOT g.is_deleted
               AND m.user_id = ?
            """,
            [.text(group.rawValue), .int(userID.rawValue)], Membership.init(_:))
    }

    /// The same, together with a file if the group has it, deleted or not: read in one statement, so at the same
    /// moment.
    public mutating func membership(
        of userID: UserID, in group: SharingGroupUUID, with file: FileUUID
    ) throws(StoreError) -> (membership: Membership, file: FileRecord?)? {
        try first(
            """
            SELECT \(Membership.columns), \(FileRecord.columns, of: "f")
              FROM \(Membership.tables)
              LEFT JOIN files f ON f.sharing_group_id = m.sharing_group_id
                               AND f.file_uuid = ?
             WHERE g.sharing_group_uuid = ?
               AND NOT g.is_deleted
               AND m.user_id = ?
            """,
            [.text(file.rawValue), .text(group.rawValue), .int(userID.rawValue)]
        ) { row throws(StoreError) in
            let file = row.columns(of: "f")
            return (try Membership(row), try file.isNull("file_uuid") ? nil : try FileRecord(file))
        }
    }

    /// All groups that a user belongs to, in the order of their creation, each with its members.
    public mutating func groups(of userID: UserID) throws(StoreError) -> [SharingGroupInfo] {
        var groups: [SharingGroupInfo] = []
        var last: Int64?
        // One query, because Index waits for it: each member's row includes the group's columns.
        try connection.query(
            """
            SELECT g.sharing_group_id, g.sharing_group_uuid, g.name, g.master_version, g.restore_mark,
                   g.restored_master_version, g.is_restoring, mine.permission, o.account_type, u.user_id,
                   u.display_name
              FROM memberships mine
              JOIN sharing_groups g ON g.sharing_group_id = mine.sharing_group_id
              LEFT JOIN users o ON o.user_id = mine.owning_user_id
              JOIN memberships m ON m.sharing_group_id = mine.sharing_group_id
              JOIN users u ON u.user_id = m.user_id
             WHERE mine.user_id = ?
               AND NOT g.is_deleted
             ORDER BY g.sharing_group_id, u.user_id
            """,
            [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            let groupID: Int64 = try row.number("sharing_group_id")
            if groupID != last { groups.append(try Self.describe(row)) }
            last = groupID
            groups[groups.count - 1].sharingGroupUsers.append(
                SharingGroupInfo.Member(
                    name: try row.string("display_name"), userId: UserID(try row.number("user_id"))))
        }
        return groups
    }

    /// A group, without its members.
    private static func describe(_ row: borrowing Row) throws(StoreError) -> SharingGroupInfo {
        let owner: AccountType? = try row.optionalWord("account_type")
        let permission = try row.permission("permission")
        let text = try row.optionalString("restore_mark")
        let mark = text.flatMap { RestoreMark($0) }
        guard (text == nil) == (mark == nil) else { throw .corrupt(table: "sharing_groups", column: "restore_mark") }
        let restored: MasterVersion? =
            if mark != nil { try row.optionalNumber("restored_master_version").map { MasterVersion($0) } } else { nil }
        return SharingGroupInfo(
            sharingGroupUUID: try row.identifier("sharing_group_uuid"),
            sharingGroupName: try row.optionalString("name"), deleted: false,
            masterVersion: MasterVersion(try row.number("master_version")),
            permission: try row.flag("is_restoring") ? min(permission, .read) : permission, sharingGroupUsers: [],
            cloudStorageType: owner?.cloudStorageType, restoreMark: mark,
            restoredMasterVersion: restored)
    }

    /// The members of a group and their permissions, in the order of their numbers.
    public mutating func describeMembers(
        of groupID: SharingGroupID
    ) throws(StoreError) -> [GetSharingGroupMembersResponse.Member] {
        try all(
            """
            SELECT u.user_id, u.display_name, m.permission,
                   IF(u.account_type IN (\(SQL.owningAccountTypes)), u.user_id, m.owning_user_id) AS owner_id
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
             WHERE m.sharing_group_id = ?
             ORDER BY u.user_id
            """,
            [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            GetSharingGroupMembersResponse.Member(
                userId: UserID(try row.number("user_id")), name: try row.string("display_name"),
                permission: try row.permission("permission"),
                owningUserId: try row.optionalNumber("owner_id").map(UserID.init))
        }
    }

    /// Creates a group with master version 0 whose only member is `creator`, as its admin.
    /// - Throws: ``StoreError/alreadyExists(key:)`` with the key `sharing_group_uuid`.
    public mutating func addGroup(
        _ group: SharingGroupUUID, name: String?, creator: UserID, at now: WireDate
    ) throws(StoreError) {
        let groupID = try insert(
            "INSERT INTO sharing_groups (sharing_group_uuid, name, created_at) VALUES (?, ?, ?)",
            [.text(group.rawValue), .text(orNull: name), .date(now)])
        try addMember(
            creator, to: SharingGroupID(groupID), permission: .admin, owningUserID: nil, invitation: nil, at: now)
    }

    /// - Parameter owningUserID: the user whose storage receives the member's new files, for members without storage.
    /// - Throws: ``StoreError/alreadyExists(key:)`` if the user is a member.
    public mutating func addMember(
        _ userID: UserID, to groupID: SharingGroupID, permission: Permission, owningUserID: UserID?,
        invitation: SharingInvitationUUID?, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO memberships
                   (sharing_group_id, user_id, owning_user_id, permission, invitation_uuid, joined_at)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                .int(groupID.rawValue), .int(userID.rawValue), .int(orNull: owningUserID?.rawValue),
                .text(permission.queryText), .text(orNull: invitation?.rawValue), .date(now),
            ])
        changes.groups.insert(groupID)
    }

    /// Whether a user belongs to a group.
    public mutating func isMember(_ userID: UserID, of groupID: SharingGroupID) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM memberships WHERE sharing_group_id = ? AND user_id = ?",
            [.int(groupID.rawValue), .int(userID.rawValue)]
        ) { _ in true } ?? false
    }

    /// The group that a user joined through an invitation; `nil` if they did not join, or have left it.
    public mutating func group(
        joinedBy userID: UserID, through invitation: SharingInvitationUUID
    ) throws(StoreError) -> SharingGroupUUID? {
        try first(
            """
            SELECT g.sharing_group_uuid
              FROM memberships m
              JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
             WHERE m.user_id = ?
               AND m.invitation_uuid = ?
               AND NOT g.is_deleted
            """,
            [.int(userID.rawValue), .text(invitation.rawValue)]
        ) { row throws(StoreError) in try row.identifier(0) }
    }

    /// Advances a group's master version by one, if it still equals `expected`, and keeps its row locked.
    ///
    /// Compare, increment and lock are one statement: of two concurrent commits exactly one succeeds, and the other
    /// gets the current version. Call first in a transaction.
    /// - Throws: ``StoreError/notFound`` if no such group exists.
    public mutating func advanceMasterVersion(
        of groupID: SharingGroupID, from expected: MasterVersion
    ) throws(StoreError) -> MasterVersionAdvance {
        if try raiseMasterVersion(of: groupID, from: expected) { return .advanced(to: expected.next) }
        let current = try lockMasterVersionExclusive(of: groupID)
        // It may have reached the expected version during the wait for the lock; from now on it does not change.
        guard current == expected, try raiseMasterVersion(of: groupID, from: expected) else {
            return .stale(current: current)
        }
        return .advanced(to: expected.next)
    }

    private mutating func raiseMasterVersion(
        of groupID: SharingGroupID, from expected: MasterVersion
    ) throws(StoreError) -> Bool {
        let raised = try execute(
            """
            UPDATE sharing_groups
               SET master_version = master_version + 1
             WHERE sharing_group_id = ?
               AND master_version = ?
               AND NOT is_deleted
            """,
            [.int(groupID.rawValue), .int(expected.rawValue)])
        if raised == 1 { changes.groups.insert(groupID) }
        return raised == 1
    }

    /// The current master version; the group's row stays locked until the end of the transaction.
    /// - Throws: ``StoreError/notFound`` if the group does not exist or is deleted.
    public mutating func lockMasterVersionExclusive(of groupID: SharingGroupID) throws(StoreError) -> MasterVersion {
        let version = try first(
            "SELECT master_version FROM sharing_groups WHERE sharing_group_id = ? AND NOT is_deleted FOR UPDATE",
            [.int(groupID.rawValue)]
        ) { row throws(StoreError) in MasterVersion(try row.number(0)) }
        guard let version else { throw .notFound }
        return version
    }

    /// The current master version, which cannot advance before the transaction ends; others may read and stage.
    /// - Throws: ``StoreError/notFound`` if the group does not exist or is deleted.
    public mutating func lockMasterVersionShared(of groupID: SharingGroupID) throws(StoreError) -> MasterVersion {
        let version = try first(
            """
            SELECT master_version
              FROM sharing_groups
             WHERE sharing_group_id = ?
               AND NOT is_deleted
              LOCK IN SHARE MODE
            """,
            [.int(groupID.rawValue)]
        ) { row throws(StoreError) in MasterVersion(try row.number(0)) }
        guard let version else { throw .notFound }
        return version
    }

    public mutating func rename(_ groupID: SharingGroupID, to name: String) throws(StoreError) {
        try execute(
            "UPDATE sharing_groups SET name = ? WHERE sharing_group_id = ?", [.text(name), .int(groupID.rawValue)])
    }
}
