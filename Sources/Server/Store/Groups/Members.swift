import MariaDB
public import SyncProtocol

extension StoreSession {
    /// The members of a group, ordered by when they joined.
    ///
    /// Call in a transaction that has locked the group, so that its members do not change in the meantime.
    public mutating func members(of groupID: SharingGroupID) throws(StoreError) -> [GroupMember] {
        try all(
            """
            SELECT m.user_id, u.account_type, m.permission, m.joined_at
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
             WHERE m.sharing_group_id = ?
             ORDER BY m.joined_at, m.user_id
            """,
            [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            GroupMember(
                userID: UserID(try row.number("user_id")), accountType: try row.word("account_type"),
                permission: try row.permission("permission"), joinedAt: try row.date("joined_at"))
        }
    }

    /// Changes the permission of a member.
    public mutating func setPermission(
        _ permission: Permission, of userID: UserID, in groupID: SharingGroupID
    ) throws(StoreError) {
        try execute(
            "UPDATE memberships SET permission = ? WHERE sharing_group_id = ? AND user_id = ?",
            [.text(permission.queryText), .int(groupID.rawValue), .int(userID.rawValue)])
    }

    /// Removes a member from a group that has just been advanced to master version `version` and is locked.
    ///
    /// Files that the member owns are marked deleted; their bytes are left in place, because they belong to the member,
    /// and the server keeps no record of them from now on. Members who used this member's storage no longer have any.
    /// The member's staged changes are withdrawn, and so are changes to the member's files that others staged: nobody
    /// could commit them. New files that others staged into this member's storage lose their contents; their rows are
    /// kept, so that the commit is rejected, until the phone has been informed (``withdrawWithoutContent(_:in:)``).
    /// Resumable uploads by the member, or into their storage, end. If no member is left, the group ends; if no admin
    /// is left, a member is promoted (``Succession``).
    /// - Throws: ``StoreError/notFound`` if the user is not a member.
    public mutating func removeMember(
        _ userID: UserID, from groupID: SharingGroupID, as version: MasterVersion, at now: WireDate
    ) throws(StoreError) {
        let group: [Value] = [.int(groupID.rawValue)]
        let member: [Value] = group + [.int(userID.rawValue)]
        guard
            try execute("DELETE FROM memberships WHERE sharing_group_id = ? AND user_id = ?", member) == 1
        else { throw .notFound }
        changes.formerMembers.insert(userID)
        try endUploads(concerning: userID, in: groupID, at: now)
        let succession = Succession.among(try members(of: groupID))
        if succession == .groupEnds { return try endGroup(groupID, as: version, at: now) }
        if case .promotion(let successor) = succession {
            try setPermission(.admin, of: successor, in: groupID)
        }
        try execute(
            "UPDATE memberships SET owning_user_id = NULL WHERE sharing_group_id = ? AND owning_user_id = ?", member)
        try execute(
            """
            DELETE FROM invitations
             WHERE sharing_group_id = ?
               AND (inviting_user_id = ? OR owning_user_id = ?)
            """, member + [.int(userID.rawValue)])
        try withdrawStaged(by: userID, in: groupID, at: now)
        try execute("DELETE FROM batches WHERE sharing_group_id = ? AND user_id = ?", member)
        try withdrawStagedChangesOfFiles(ownedBy: userID, in: groupID, at: now)
        try withdrawStagedContents(ownedBy: userID, in: groupID, at: now)
        try markFilesDeleted(ownedBy: userID, in: groupID, as: version)
    }

    /// Ends a group that has just been advanced to master version `version` and is locked: all files are marked
    /// deleted, but their bytes are left in place; all memberships, invitations and staged changes are deleted.
    public mutating func endGroup(
        _ groupID: SharingGroupID, as version: MasterVersion, at now: WireDate
    ) throws(StoreError) {
        let group: [Value] = [.int(groupID.rawValue)]
        for member in try members(of: groupID) {
            changes.formerMembers.insert(member.userID)
            try endUploads(concerning: member.userID, in: groupID, at: now)
        }
        try execute("DELETE FROM memberships WHERE sharing_group_id = ?", group)
        try execute("DELETE FROM invitations WHERE sharing_group_id = ?", group)
        try withdrawStaged(in: groupID, at: now)
        try execute(
            """
            UPDATE files
               SET \(assigning: FileRecord.deletion.columns), changed_at_master_version = ?
             WHERE sharing_group_id = ?
               AND NOT is_deleted
            """, FileRecord.deletion.values + [.int(version.rawValue)] + group)
        try execute("UPDATE sharing_groups SET is_deleted = TRUE WHERE sharing_group_id = ?", group)
    }

    /// Marks the files of one owner in a group deleted, as of master version `version`; their bytes are left in place.
    package mutating func markFilesDeleted(
        ownedBy userID: UserID, in groupID: SharingGroupID, as version: MasterVersion
    ) throws(StoreError) {
        try execute(
            """
            UPDATE files
               SET \(assigning: FileRecord.deletion.columns), changed_at_master_version = ?
             WHERE sharing_group_id = ?
               AND owning_user_id = ?
               AND NOT is_deleted
            """, FileRecord.deletion.values + [.int(version.rawValue), .int(groupID.rawValue), .int(userID.rawValue)])
    }
}

/// The properties of a group's member that determine who may administer the group.
public struct GroupMember: Equatable, Sendable {
    public var userID: UserID
    public var accountType: AccountType
    public var permission: Permission
    public var joinedAt: WireDate

    public init(userID: UserID, accountType: AccountType, permission: Permission, joinedAt: WireDate) {
        self.userID = userID
        self.accountType = accountType
        self.permission = permission
        self.joinedAt = joinedAt
    }
}

/// What a group needs so that it has an admin.
///
/// A pure decision, made whenever a member has left or their permission has changed.
public enum Succession: Equatable, Sendable {
    /// The group has an admin.
    case unnecessary
    /// This member becomes admin.
    case promotion(of: UserID)
    /// No member is left: the group ends.
    case groupEnds

    /// Decides for a group with exactly these members.
    ///
    /// Members with storage come first, because others depend on them: among those the highest permission, then the
    /// longest membership. If no member has storage, the longest membership decides. Of two who joined in the same
    /// second, the older user is chosen.
    public static func among(_ members: [GroupMember]) -> Succession {
        guard !members.isEmpty else { return .groupEnds }
        if members.contains(where: { $0.permission == .admin }) { return .unnecessary }
        let owning = members.filter { $0.accountType.userType == .owning }
        let highest = owning.map(\.permission).max()
        let candidates = owning.isEmpty ? members : owning.filter { $0.permission == highest }
        let first = candidates.min { left, right in
            (left.joinedAt.secondsSince1970, left.userID.rawValue)
                < (right.joinedAt.secondsSince1970, right.userID.rawValue)
        }
        return first.map { .promotion(of: $0.userID) } ?? .groupEnds
    }
}
