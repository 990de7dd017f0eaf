import MariaDB
public import SyncProtocol

/// An open invitation to a sharing group.
public struct InvitationRecord: Equatable, Sendable {
    public var groupID: SharingGroupID
    public var groupUUID: SharingGroupUUID
    public var invitingUserID: UserID
    /// The owner of new files of an invitee without storage.
    public var owningUserID: UserID
    public var permission: Permission
    public var allowsSocialAcceptance: Bool
    public var remainingAcceptors: Int
    /// The group's name; `nil` if it has none.
    public var groupName: String?
    /// The display name of the user who invites, possibly empty; `nil` without such a user.
    public var invitingUserName: String?
}

extension InvitationRecord {
    /// The columns of `invitations` that ``init(_:)`` reads, besides the UUID and the names.
    static let columns: ColumnList = [
        "sharing_group_id", "inviting_user_id", "owning_user_id", "permission", "allows_social_acceptance",
        "remaining_acceptors",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        groupID = SharingGroupID(try row.number("sharing_group_id"))
        groupUUID = try row.identifier("sharing_group_uuid")
        invitingUserID = UserID(try row.number("inviting_user_id"))
        owningUserID = UserID(try row.number("owning_user_id"))
        permission = try row.permission("permission")
        allowsSocialAcceptance = try row.flag("allows_social_acceptance")
        remainingAcceptors = Int(try row.number("remaining_acceptors"))
        groupName = try row.optionalString("name")
        invitingUserName = try row.optionalString("display_name")
    }
}

extension StoreSession {
    /// An invitation that is neither expired nor used up and whose group exists; `nil` otherwise.
    public mutating func invitation(
        _ invitation: SharingInvitationUUID, at now: WireDate
    ) throws(StoreError) -> InvitationRecord? {
        try first(
            """
            SELECT \(InvitationRecord.columns, of: "i"), g.sharing_group_uuid, g.name, u.display_name
              FROM invitations i
              JOIN sharing_groups g ON g.sharing_group_id = i.sharing_group_id
              LEFT JOIN users u ON u.user_id = i.inviting_user_id
             WHERE i.invitation_uuid = ?
               AND i.expires_at > ?
               AND NOT g.is_deleted
            """,
            [.text(invitation.rawValue), .date(now)], InvitationRecord.init(_:))
    }

    /// The invitations to a group that have not expired, ordered by expiry time.
    public mutating func openInvitations(
        to groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) -> [GetSharingInvitationsResponse.Invitation] {
        try all(
            """
            SELECT invitation_uuid, permission, allows_social_acceptance, remaining_acceptors, expires_at,
                   inviting_user_id
              FROM invitations
             WHERE sharing_group_id = ?
               AND expires_at > ?
             ORDER BY expires_at, invitation_uuid
            """,
            [.int(groupID.rawValue), .date(now)]
        ) { row throws(StoreError) in
            GetSharingInvitationsResponse.Invitation(
                sharingInvitationUUID: try row.identifier("invitation_uuid"),
                permission: try row.permission("permission"),
                allowSocialAcceptance: try row.flag("allows_social_acceptance"),
                numberOfAcceptors: try row.number32("remaining_acceptors"),
                expirationDate: try row.date("expires_at"),
                invitingUserId: UserID(try row.number("inviting_user_id")))
        }
    }

    /// Removes an invitation to a group, if it exists.
    public mutating func removeInvitation(
        _ invitation: SharingInvitationUUID, to groupID: SharingGroupID
    ) throws(StoreError) {
        try execute(
            "DELETE FROM invitations WHERE invitation_uuid = ? AND sharing_group_id = ?",
            [.text(invitation.rawValue), .int(groupID.rawValue)])
    }

    /// Removes one member's invitations to a group.
    public mutating func removeInvitations(by userID: UserID, to groupID: SharingGroupID) throws(StoreError) {
        try execute(
            "DELETE FROM invitations WHERE sharing_group_id = ? AND inviting_user_id = ?",
            [.int(groupID.rawValue), .int(userID.rawValue)])
    }

    public mutating func addInvitation(
        _ invitation: SharingInvitationUUID, to groupID: SharingGroupID, by invitingUserID: UserID,
        owningUserID: UserID, permission: Permission, allowsSocialAcceptance: Bool, acceptors: Int, expires: WireDate
    ) throws(StoreError) {
        let row: ColumnValues = [
            "invitation_uuid": .text(invitation.rawValue), "sharing_group_id": .int(groupID.rawValue),
            "inviting_user_id": .int(invitingUserID.rawValue), "owning_user_id": .int(owningUserID.rawValue),
            "permission": .text(permission.queryText), "allows_social_acceptance": .bool(allowsSocialAcceptance),
            "remaining_acceptors": .int(Int64(acceptors)), "expires_at": .date(expires),
        ]
        try execute("INSERT INTO invitations (\(row.columns)) VALUES (\(valuesOf: row.columns))", row.values)
    }

    /// Uses one acceptance; the last one removes the invitation.
    ///
    /// SQL makes the decision: if two users redeem the last acceptance, only one gets `true`. Call in a transaction
    /// that has locked the group.
    public mutating func useAcceptance(
        of invitation: SharingInvitationUUID, at now: WireDate
    ) throws(StoreError) -> Bool {
        let used = try execute(
            """
            UPDATE invitations
               SET remaining_acceptors = remaining_acceptors - 1
             WHERE invitation_uuid = ?
               AND expires_at > ?
               AND remaining_acceptors > 0
            """,
            [.text(invitation.rawValue), .date(now)])
        guard used == 1 else { return false }
        try execute(
            "DELETE FROM invitations WHERE invitation_uuid = ? AND remaining_acceptors = 0",
            [.text(invitation.rawValue)])
        return true
    }

    /// Removes expired invitations, at most `limit` of them.
    /// - Returns: how many were removed.
    public mutating func removeExpiredInvitations(at now: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM invitations WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
            [.date(now), .int(Int64(limit))])
    }
}
