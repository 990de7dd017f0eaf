import MariaDB
public import SyncProtocol

/// What a manifest contains about its group, in addition to its members and files.
public struct ManifestGroup: Equatable, Sendable {
    public var groupUUID: SharingGroupUUID
    public var name: String?
    public var createdAt: WireDate
    public var masterVersion: MasterVersion
    public var restoreMark: RestoreMark?
    public var restoredMasterVersion: MasterVersion?
}

/// A member of a group with their account.
public struct ManifestAccount: Equatable, Sendable {
    public var userID: UserID
    public var accountType: AccountType
    public var providerUserID: String
    public var name: String
    public var permission: Permission
    public var owningUserID: UserID?
    public var joinedAt: WireDate
    public var userAppID: UserAppID?
    public var accountEpoch: AccountEpoch
    /// The other groups with files to which they belong.
    public var otherGroups: [SharingGroupUUID]
}

// What a manifest contains, as read from the database.
extension StoreSession {
    /// A group as a manifest describes it; `nil` if it was removed.
    public mutating func manifestGroup(_ groupID: SharingGroupID) throws(StoreError) -> ManifestGroup? {
        try first(
            """
            SELECT sharing_group_uuid, name, created_at, master_version, restore_mark, restored_master_version
              FROM sharing_groups
             WHERE sharing_group_id = ?
               AND NOT is_deleted
               AND NOT is_restoring
            """, [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            ManifestGroup(
                groupUUID: try row.identifier("sharing_group_uuid"), name: try row.optionalString("name"),
                createdAt: try row.date("created_at"), masterVersion: MasterVersion(try row.number("master_version")),
                restoreMark: try row.optionalString("restore_mark").flatMap { RestoreMark($0) },
                restoredMasterVersion: try row.optionalNumber("restored_master_version").map { MasterVersion($0) })
        }
    }

    /// The members of a group with their accounts, in the order of their numbers.
    public mutating func manifestAccounts(of groupID: SharingGroupID) throws(StoreError) -> [ManifestAccount] {
        let otherGroups = try otherGroups(ofMembersOf: groupID)
        return try all(
            """
            SELECT u.user_id, u.account_type, u.provider_user_id, u.display_name, m.permission, m.owning_user_id,
                   m.joined_at, COALESCE(u.user_app_id, r.user_app_id) AS user_app_id,
                   GREATEST(u.account_epoch, COALESCE(r.account_epoch, 0)) AS account_epoch
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
              LEFT JOIN rebuild_members r ON r.sharing_group_id = m.sharing_group_id
                                         AND r.user_id = m.user_id
                                         AND NOT r.is_recognised
             WHERE m.sharing_group_id = ?
             ORDER BY u.user_id
            """, [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            ManifestAccount(
                userID: UserID(try row.number("user_id")), accountType: try row.word("account_type"),
                providerUserID: try row.string("provider_user_id"), name: try row.string("display_name"),
                permission: try row.permission("permission"),
                owningUserID: try row.optionalNumber("owning_user_id").map(UserID.init),
                joinedAt: try row.date("joined_at"),
                userAppID: try row.optionalString("user_app_id").flatMap { UserAppID($0) },
                accountEpoch: AccountEpoch(try row.number("account_epoch")),
                otherGroups: otherGroups[UserID(try row.number("user_id"))] ?? [])
        }
    }

    /// The other groups with files to which each member of a group belongs, including groups that a rebuild waits for.
    private mutating func otherGroups(
        ofMembersOf groupID: SharingGroupID
    ) throws(StoreError) -> [UserID: [SharingGroupUUID]] {
        let group = Value.int(groupID.rawValue)
        var groups: [UserID: [SharingGroupUUID]] = [:]
        let rows = try all(
            """
            SELECT mine.user_id, g.sharing_group_uuid
              FROM memberships mine
              JOIN memberships other ON other.user_id = mine.user_id
                                    AND other.sharing_group_id <> mine.sharing_group_id
              JOIN sharing_groups g ON g.sharing_group_id = other.sharing_group_id
             WHERE mine.sharing_group_id = ?
               AND NOT g.is_deleted
               AND EXISTS (SELECT 1 FROM files f WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted)
             UNION
            SELECT mine.user_id, a.sharing_group_uuid
              FROM memberships mine
              JOIN rebuild_awaited a ON a.user_id = mine.user_id
              JOIN sharing_groups g ON g.sharing_group_id = mine.sharing_group_id
             WHERE mine.sharing_group_id = ?
               AND a.sharing_group_uuid NOT IN ('', g.sharing_group_uuid)
             ORDER BY 1, 2
            """, [group, group]
        ) { row throws(StoreError) in
            (UserID(try row.number(0)), try row.identifier(1, as: SharingGroupUUID.self))
        }
        for (userID, other) in rows { groups[userID, default: []].append(other) }
        return groups
    }

    /// Passes all files of a group to `body`, deleted ones included, in the order of their creation.
    public mutating func manifestFiles(
        of groupID: SharingGroupID, _ body: (FileRecord, FileGroupUUID?) -> Void
    ) throws(StoreError) {
        try connection.query(
            """
            SELECT \(FileRecord.columns), file_group_uuid
              FROM files
             WHERE sharing_group_id = ?
             ORDER BY created_at, file_group_uuid, file_uuid
            """, [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            body(try FileRecord(row), try row.optionalIdentifier("file_group_uuid"))
        }
    }
}
