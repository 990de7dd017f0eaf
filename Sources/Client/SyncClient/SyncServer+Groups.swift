import Synchronization

// The members of a group, and its invitations. These calls require a network and a server with extensions (others:
// `notSupported`). All except ``SyncServer/members(of:)`` also require that the user is an admin of the group.
extension SyncServer {
    /// A member of a sharing group.
    public struct Member: Sendable, Hashable, Identifiable {
        /// The user.
        public let id: UserID
        /// The name in the member's account; may be empty.
        public let name: String
        /// What the member may do.
        public let permission: Permission
        /// The user whose storage holds the member's new files: the member, or the one who invited them. Nil once that
        /// user has left the group.
        public let storageOwner: UserID?
        /// Whether this is the app's own user.
        public let isOwnUser: Bool

        /// Creates a member.
        public init(id: UserID, name: String, permission: Permission, storageOwner: UserID?, isOwnUser: Bool) {
            self.id = id
            self.name = name
            self.permission = permission
            self.storageOwner = storageOwner
            self.isOwnUser = isOwnUser
        }
    }

    /// Lists the members of a group, including the app's user, in the order in which their users were created.
    /// - Throws: `notAMember`; `networkError` and others.
    public func members(of group: SharingGroupUUID) async throws(SyncError) -> [Member] {
        let connection = try requireConnection()
        let response = try await asked(group) { () throws(ServerConnectionError) in
            try await connection.sharingGroupMembers(group)
        }
        let own = syncServerUserID
        return response.sharingGroupMembers.map { member in
            Member(
                id: member.userId, name: member.name, permission: member.permission,
                storageOwner: member.owningUserId, isOwnUser: member.userId.description == own)
        }
    }

    /// Changes a member's permission. The invitations of a member who may no longer invite become invalid; the
    /// member's device keeps changes that it may no longer send (``PendingReport``).
    /// - Throws: `permissionDenied`; `requestRefused` with the server's code `last_admin` if the group would have no
    ///   admin, or `member_unknown`; `notAMember`; `tooManyRestarts` if others keep changing the group; `networkError`,
    ///   after which ``members(of:)`` shows whether the change took effect; others.
    public func setPermission(
        _ permission: Permission, of member: UserID, in group: SharingGroupUUID
    ) async throws(SyncError) {
        let connection = try requireConnection()
        try await change(group) { version throws(ServerConnectionError) in
            try await connection.updateSharingGroupMember(
                UpdateSharingGroupMemberRequest(
                    sharingGroupUUID: group, masterVersion: version, userID: member, permission: permission))
        }
    }

    /// Removes a member from a group. Files in cloud storage are kept; files that the member's storage holds are out of
    /// reach for the others. The app's own user leaves with ``removeFromSharingGroup(sharingGroupUUID:)``.
    /// - Throws: As ``setPermission(_:of:in:)``.
    public func removeMember(_ member: UserID, from group: SharingGroupUUID) async throws(SyncError) {
        let connection = try requireConnection()
        try await change(group) { version throws(ServerConnectionError) in
            try await connection.removeSharingGroupMember(
                RemoveSharingGroupMemberRequest(sharingGroupUUID: group, masterVersion: version, userID: member))
        }
    }

    /// Removes a group for all its members, immediately. Files in cloud storage are kept. The group disappears from
    /// ``sharingGroups`` with the next sync, which this call requests; changes that were not sent are set aside. The
    /// app keeps its files until it calls ``forget(sharingGroupUUID:)``.
    /// - Throws: `permissionDenied`, `notAMember`, `tooManyRestarts`, `networkError`; others.
    public func removeSharingGroup(_ group: SharingGroupUUID) async throws(SyncError) {
        let connection = try requireConnection()
        try await change(group) { version throws(ServerConnectionError) in
            try await connection.removeSharingGroup(
                RemoveSharingGroupRequest(sharingGroupUUID: group, masterVersion: version))
        }
    }

    /// Lists the invitations to a group that can still be redeemed, with the names of the group and of their authors;
    /// the next to expire first.
    /// - Throws: `permissionDenied`, `notAMember`, `networkError`; others.
    public func invitations(to group: SharingGroupUUID) async throws(SyncError) -> [Invitation] {
        let connection = try requireConnection()
        let open = try await asked(group) { () throws(ServerConnectionError) in
            try await connection.sharingInvitations(to: group)
        }
        guard !open.isEmpty else { return [] }
        let names = Dictionary(try await members(of: group).map { ($0.id, $0.name) }, uniquingKeysWith: { $1 })
        let groupName = driver.state.withLock { $0.machine.state.groups[group]?.name }
        return open.map { each in
            var invitation = Invitation(
                code: each.sharingInvitationUUID, permission: each.permission,
                allowsSocialSharing: each.allowSocialAcceptance)
            invitation.sharingGroupName = groupName
            invitation.invitingUserName = names[each.invitingUserId]
            invitation.remainingAcceptors = Int(each.numberOfAcceptors)
            invitation.expirationDate = each.expirationDate.date
            return invitation
        }
    }

    /// Withdraws an invitation to a group: nobody can redeem it afterwards. Succeeds if the invitation does not exist.
    /// - Throws: `permissionDenied`, `notAMember`, `networkError`; others.
    public func withdrawInvitation(
        _ code: SharingInvitationUUID, to group: SharingGroupUUID
    ) async throws(SyncError) {
        let connection = try requireConnection()
        let request = RevokeSharingInvitationRequest(sharingGroupUUID: group, sharingInvitationUUID: code)
        try await asked(group) { () throws(ServerConnectionError) in
            try await connection.revokeSharingInvitation(request)
        }
    }

    /// Attempts at a change to a group that others are changing as well.
    private static let maximumAttempts = 8

    /// Changes a group, and then requests its state. If others have changed the group, repeats the change with the
    /// current master version.
    private func change(
        _ group: SharingGroupUUID, _ body: (MasterVersion) async throws(ServerConnectionError) -> Outcome<Void>
    ) async throws(SyncError) {
        var version = driver.state.withLock { $0.machine.state.groups[group]?.masterVersion } ?? .initial
        for _ in 0..<Self.maximumAttempts {
            let known = version
            let outcome = try await asked(group) { () throws(ServerConnectionError) in try await body(known) }
            switch outcome {
            case .success:
                try? sync()
                return
            case .stale(let current): version = current
            case .gone: throw SyncError(.notAMember, sharingGroupUUID: group)
            }
        }
        throw SyncError(.tooManyRestarts, sharingGroupUUID: group)
    }
}
