import MariaDB
public import Store
public import SyncProtocol

/// Which groups to list.
public struct GroupFilter: Sendable {
    /// A part of the name, case-insensitive.
    public var namePart: String?
    /// Groups that this user belongs to.
    public var member: UserID?
    /// Whether groups that have ended are listed too.
    public var includesDeleted: Bool

    public init(namePart: String? = nil, member: UserID? = nil, includesDeleted: Bool = false) {
        self.namePart = namePart
        self.member = member
        self.includesDeleted = includesDeleted
    }
}

/// A group in a list.
public struct ListedGroup: Equatable, Sendable, Encodable {
    public var sharingGroupUUID: SharingGroupUUID
    public var name: String?
    public var masterVersion: MasterVersion
    public var deleted: Bool
    public var createdAt: WireDate
    public var members: Int
    public var files: Int
}

/// A group with its members and current activity.
public struct GroupDetails: Equatable, Sendable, Encodable {
    public struct Member: Equatable, Sendable, Encodable {
        public var userID: UserID
        public var name: String
        public var accountType: AccountType
        public var permission: Permission
        public var joinedAt: WireDate
        /// The user whose storage takes the member's new files; absent if there is none.
        public var owningUserID: UserID?
    }

    /// An invitation, without its code: anyone who has the code can join.
    public struct Invitation: Equatable, Sendable, Encodable {
        public var invitingUserID: UserID
        public var permission: Permission
        public var remainingAcceptors: Int
        public var expiresAt: WireDate
    }

    public var group: ListedGroup
    public var deletedFiles: Int
    public var fileBytes: Int64
    public var members: [Member]
    public var invitations: [Invitation]
    public var stagedChanges: Int
    /// The newest commit's user and device, if nothing else has changed the group since.
    public var lastCommit: LastCommit?
    /// Whether `syncctl import` imported it.
    public var imported: Bool

    public struct LastCommit: Equatable, Sendable, Encodable {
        public var userID: UserID
        public var deviceUUID: DeviceUUID
        public var changes: Int
    }
}

extension StoreSession {
    /// Groups in the order of their UUIDs, after `after`, at most `limit` of them.
    public mutating func listGroups(
        _ filter: GroupFilter, after: SharingGroupUUID?, limit: Int
    ) throws(StoreError) -> [ListedGroup] {
        let name = Value.text(orNull: filter.namePart)
        let member = Value.int(orNull: filter.member?.rawValue)
        return try all(
            """
            SELECT g.sharing_group_uuid, g.name, g.master_version, g.is_deleted, g.created_at,
                   (SELECT COUNT(*) FROM memberships m WHERE m.sharing_group_id = g.sharing_group_id),
                   (SELECT COUNT(*) FROM files f WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted)
              FROM sharing_groups g
             WHERE g.sharing_group_uuid > ?
               AND (NOT g.is_deleted OR ?)
               AND (? IS NULL OR LOCATE(?, g.name) > 0)
               AND (? IS NULL OR EXISTS (SELECT 1 FROM memberships m
                                          WHERE m.sharing_group_id = g.sharing_group_id AND m.user_id = ?))
             ORDER BY g.sharing_group_uuid
             LIMIT ?
            """,
            [
                .text(after?.rawValue ?? ""), .bool(filter.includesDeleted), name, name, member, member,
                .int(Int64(limit)),
            ], Self.listedGroup(from:))
    }

    private static func listedGroup(from row: borrowing Row) throws(StoreError) -> ListedGroup {
        ListedGroup(
            sharingGroupUUID: try row.identifier(0), name: row.optionalText(1),
            masterVersion: MasterVersion(try row.number(2)), deleted: try row.flag(3),
            createdAt: try row.date(4), members: Int(try row.number(5)),
            files: Int(try row.number(6)))
    }

    /// A group, ended or not, with its members and current activity; `nil` if there is none.
    public mutating func groupDetails(
        _ group: SharingGroupUUID, at now: WireDate
    ) throws(StoreError) -> GroupDetails? {
        let found = try first(
            """
            SELECT g.sharing_group_uuid, g.name, g.master_version, g.is_deleted, g.created_at,
                   (SELECT COUNT(*) FROM memberships m WHERE m.sharing_group_id = g.sharing_group_id),
                   (SELECT COUNT(*) FROM files f WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted),
                   g.sharing_group_id,
                   (SELECT COUNT(*) FROM files f WHERE f.sharing_group_id = g.sharing_group_id AND f.is_deleted),
                   (SELECT SUM(size_bytes) FROM files f
                     WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted),
                   EXISTS (SELECT 1 FROM imported_groups i WHERE i.sharing_group_id = g.sharing_group_id),
                   IF(g.last_commit_version = g.master_version, g.last_commit_user_id, NULL),
                   g.last_commit_device_uuid, g.last_commit_transferred
              FROM sharing_groups g
             WHERE g.sharing_group_uuid = ?
            """, [.text(group.rawValue)]
        ) { row throws(StoreError) in
            var commit: GroupDetails.LastCommit?
            if let userID = try row.optionalNumber(11) {
                commit = GroupDetails.LastCommit(
                    userID: UserID(userID),
                    deviceUUID: try row.identifier(12),
                    changes: Int(try row.optionalNumber(13) ?? 0))
            }
            return (
                details: GroupDetails(
                    group: try Self.listedGroup(from: row), deletedFiles: Int(try row.number(8)),
                    fileBytes: try row.optionalNumber(9) ?? 0, members: [], invitations: [], stagedChanges: 0,
                    lastCommit: commit, imported: try row.flag(10)),
                id: SharingGroupID(try row.number(7))
            )
        }
        guard var details = found?.details, let id = found?.id else { return nil }
        details.members = try listMembers(of: id)
        details.invitations = try openInvitations(to: id, at: now).map {
            GroupDetails.Invitation(
                invitingUserID: $0.invitingUserId, permission: $0.permission,
                remainingAcceptors: Int($0.numberOfAcceptors), expiresAt: $0.expirationDate)
        }
        details.stagedChanges = try count(
            "SELECT COUNT(*) FROM staged_changes WHERE sharing_group_id = ?", [.int(id.rawValue)])
        return details
    }

    mutating func listMembers(of groupID: SharingGroupID) throws(StoreError) -> [GroupDetails.Member] {
        try all(
            """
            SELECT u.user_id, u.display_name, u.account_type, m.permission, m.joined_at,
                   IF(u.account_type IN ('Google', 'Dropbox', 'Microsoft'), u.user_id, m.owning_user_id)
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
             WHERE m.sharing_group_id = ?
             ORDER BY m.joined_at, u.user_id
            """, [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            GroupDetails.Member(
                userID: UserID(try row.number(0)), name: try row.string(1),
                accountType: try row.word(2), permission: try row.permission(3),
                joinedAt: try row.date(4),
                owningUserID: try row.optionalNumber(5).map(UserID.init))
        }
    }
}
