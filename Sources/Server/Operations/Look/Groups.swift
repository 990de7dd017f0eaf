import MariaDB
public import Store
public import SyncProtocol

/// The groups to list.
public struct GroupFilter: Sendable {
    /// A part of the name, case-insensitive.
    public var namePart: String?
    /// Groups that this user belongs to.
    public var member: UserID?
    /// Whether to list ended groups as well.
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
        /// The user whose storage receives the member's new files; absent if there is none.
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
    /// The mark that Index returns; absent if the database has not been reset to an earlier state since the group's
    /// creation.
    public var restoreMark: String?
    /// The master version at that time; Index returns it with the mark.
    public var restoredMasterVersion: Int64?

    public struct LastCommit: Equatable, Sendable, Encodable {
        public var userID: UserID
        public var deviceUUID: DeviceUUID
        public var changes: Int
    }
}

extension ListedGroup {
    /// The columns of `sharing_groups` that ``init(_:)`` reads, besides the counts `member_count` and `file_count`.
    static let columns: ColumnList = ["sharing_group_uuid", "name", "master_version", "is_deleted", "created_at"]

    init(_ row: borrowing Row) throws(StoreError) {
        sharingGroupUUID = try row.identifier("sharing_group_uuid")
        name = try row.optionalString("name")
        masterVersion = MasterVersion(try row.number("master_version"))
        deleted = try row.flag("is_deleted")
        createdAt = try row.date("created_at")
        members = Int(try row.number("member_count"))
        files = Int(try row.number("file_count"))
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
            SELECT \(ListedGroup.columns, of: "g"),
                   (SELECT COUNT(*) FROM memberships m WHERE m.sharing_group_id = g.sharing_group_id) AS member_count,
                   (SELECT COUNT(*) FROM files f
                     WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted) AS file_count
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
            ], ListedGroup.init(_:))
    }

    /// A group, ended or not, with its members and current activity, or `nil`.
    public mutating func groupDetails(
        _ group: SharingGroupUUID, at now: WireDate
    ) throws(StoreError) -> GroupDetails? {
        let found = try first(
            """
            SELECT \(ListedGroup.columns, of: "g"),
                   (SELECT COUNT(*) FROM memberships m WHERE m.sharing_group_id = g.sharing_group_id) AS member_count,
                   (SELECT COUNT(*) FROM files f
                     WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted) AS file_count,
                   g.sharing_group_id,
                   (SELECT COUNT(*) FROM files f
                     WHERE f.sharing_group_id = g.sharing_group_id AND f.is_deleted) AS deleted_file_count,
                   (SELECT SUM(size_bytes) FROM files f
                     WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted) AS file_bytes,
                   EXISTS (SELECT 1 FROM imported_groups i
                            WHERE i.sharing_group_id = g.sharing_group_id) AS is_imported,
                   IF(g.last_commit_version = g.master_version, g.last_commit_user_id, NULL) AS last_committer,
                   g.last_commit_device_uuid, g.last_commit_transferred, g.restore_mark,
                   g.restored_master_version
              FROM sharing_groups g
             WHERE g.sharing_group_uuid = ?
            """, [.text(group.rawValue)]
        ) { row throws(StoreError) in
            var commit: GroupDetails.LastCommit?
            if let userID = try row.optionalNumber("last_committer") {
                commit = GroupDetails.LastCommit(
                    userID: UserID(userID), deviceUUID: try row.identifier("last_commit_device_uuid"),
                    changes: Int(try row.optionalNumber("last_commit_transferred") ?? 0))
            }
            return (
                details: GroupDetails(
                    group: try ListedGroup(row), deletedFiles: Int(try row.number("deleted_file_count")),
                    fileBytes: try row.optionalNumber("file_bytes") ?? 0, members: [], invitations: [],
                    stagedChanges: 0, lastCommit: commit, imported: try row.flag("is_imported"),
                    restoreMark: try row.optionalString("restore_mark"),
                    restoredMasterVersion: try row.optionalNumber("restored_master_version")),
                id: SharingGroupID(try row.number("sharing_group_id"))
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
                   IF(u.account_type IN (\(SQL.owningAccountTypes)), u.user_id, m.owning_user_id) AS owner_id
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
             WHERE m.sharing_group_id = ?
             ORDER BY m.joined_at, u.user_id
            """, [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            GroupDetails.Member(
                userID: UserID(try row.number("user_id")), name: try row.string("display_name"),
                accountType: try row.word("account_type"), permission: try row.permission("permission"),
                joinedAt: try row.date("joined_at"),
                owningUserID: try row.optionalNumber("owner_id").map(UserID.init))
        }
    }
}

extension ListedGroup: TableRow {
    public static var noun: String { "groups" }
    public static var header: [String] { ["GROUP", "NAME", "VERSION", "MEMBERS", "FILES", "SINCE", ""] }

    public var cells: [String] {
        [
            "\(sharingGroupUUID)", name ?? "", "\(masterVersion)", "\(members)", "\(files)", "\(createdAt.iso8601)",
            deleted ? "ended" : "",
        ]
    }
}

extension GroupDetails: Report {
    public var lines: [String] {
        var lines = [
            "group \(group.sharingGroupUUID)\(group.name.map { " “\($0)”" } ?? ""): master version "
                + "\(group.masterVersion), since \(group.createdAt.iso8601)"
                + (group.deleted ? "; ENDED" : "") + (imported ? "; imported from an older server" : ""),
            "  files      \(group.files) of \(Quantity.bytes(fileBytes)), and \(deletedFiles) deleted",
            "  waiting    \(Quantity.of(stagedChanges, "staged change")), "
                + Quantity.of(invitations.count, "open invitation"),
        ]
        if let restoreMark {
            let version = restoredMasterVersion.map { " at master version \($0)" } ?? ""
            lines.append("  restored   to an earlier state\(version): devices check the mark \(restoreMark)")
        }
        if let lastCommit {
            lines.append(
                "  last       commit of \(Quantity.of(lastCommit.changes, "change")) by user \(lastCommit.userID) on "
                    + "device \(lastCommit.deviceUUID)")
        }
        for member in members {
            let storage =
                switch member.owningUserID {
                case member.userID?: "own storage"
                case let owner?: "files go to user \(owner)"
                case nil: "no storage for new files"
                }
            lines.append(
                "  member     \(member.userID) \(member.name), \(member.accountType.rawValue): "
                    + "\(member.permission.rawValue), since \(member.joinedAt.iso8601), \(storage)")
        }
        for invitation in invitations {
            lines.append(
                "  invitation by user \(invitation.invitingUserID), \(invitation.permission.rawValue), for "
                    + "\(invitation.remainingAcceptors), until \(invitation.expiresAt.iso8601)")
        }
        return lines
    }
}
