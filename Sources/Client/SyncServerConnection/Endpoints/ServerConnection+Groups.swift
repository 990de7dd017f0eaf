public import SyncProtocol

extension ServerConnection {
    /// Creates a sharing group with the caller as its admin; requires an owning account.
    /// - Throws: ``ServerConnectionError/Code/refused`` with ``ErrorCode/groupExists`` or
    ///   ``ErrorCode/owningAccountRequired``, among others.
    public func createSharingGroup(_ request: CreateSharingGroupRequest) async throws(ServerConnectionError) {
        _ = try await perform(request, repetition: .ifRecognised)
    }

    /// Renames a sharing group; increments the master version by one.
    public func updateSharingGroup(
        _ request: UpdateSharingGroupRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Removes a sharing group for all its members. Files in cloud storage are kept.
    public func removeSharingGroup(
        _ request: RemoveSharingGroupRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Removes the caller from a sharing group. Files in cloud storage are kept.
    public func removeUserFromSharingGroup(
        _ request: RemoveUserFromSharingGroupRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Lists the members of a sharing group with their permissions.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server does not support it, among others.
    public func sharingGroupMembers(
        _ group: SharingGroupUUID
    ) async throws(ServerConnectionError) -> GetSharingGroupMembersResponse {
        try await perform(GetSharingGroupMembersRequest(sharingGroupUUID: group), repetition: .always)
    }

    /// Changes the permission of a member of a sharing group; increments the master version by one.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server does not support it, among others.
    public func updateSharingGroupMember(
        _ request: UpdateSharingGroupMemberRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Removes a member from a sharing group; increments the master version by one.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server does not support it, among others.
    public func removeSharingGroupMember(
        _ request: RemoveSharingGroupMemberRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Without a retry: a second attempt would be stale or gone, and would not show whether the first succeeded.
    private func checked<Message: RequestMessage>(
        _ message: Message
    ) async throws(ServerConnectionError) -> Outcome<Void> where Message.Response == MasterVersionCheckedResponse {
        try await outcome { () throws(ServerConnectionError) in
            switch try await perform(message, repetition: .ifNotCarriedOut) {
            case .accepted: return .success(())
            case .stale(let current): return .stale(current: current)
            }
        }
    }
}

extension ServerConnection {
    /// Creates an invitation to a sharing group, valid for 24 hours.
    /// - Returns: The code that people pass on.
    public func createSharingInvitation(
        _ request: CreateSharingInvitationRequest
    ) async throws(ServerConnectionError) -> SharingInvitationUUID {
        try await perform(request, repetition: .ifNotCarriedOut).sharingInvitationUUID
    }

    /// Requests the details of an invitation, with the names of the inviting user and of the group if the server
    /// reports them; needs no credentials.
    /// - Returns: Nil if it never existed, is used up, or expired.
    public func sharingInvitationInfo(
        _ invitation: SharingInvitationUUID
    ) async throws(ServerConnectionError) -> GetSharingInvitationInfoResponse? {
        do throws(ServerConnectionError) {
            let request = GetSharingInvitationInfoRequest(sharingInvitationUUID: invitation)
            return try await perform(request, repetition: .always)
        } catch {
            guard error.code == .gone else { throw error }
            return nil
        }
    }

    /// Lists the open invitations to a sharing group.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server does not support it, among others.
    public func sharingInvitations(
        to group: SharingGroupUUID
    ) async throws(ServerConnectionError) -> [GetSharingInvitationsResponse.Invitation] {
        try await perform(GetSharingInvitationsRequest(sharingGroupUUID: group), repetition: .always)
            .sharingInvitations
    }

    /// Revokes an invitation, so that it can no longer be redeemed.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server does not support it, among others.
    public func revokeSharingInvitation(_ request: RevokeSharingInvitationRequest) async throws(ServerConnectionError) {
        _ = try await perform(request, repetition: .always)
    }
}
