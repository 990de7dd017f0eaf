public import SyncProtocol

extension ServerConnection {
    /// Creates an invitation to a sharing group, valid for 24 hours.
    /// - Returns: The code that people pass on.
    public func createSharingInvitation(
        _ request: CreateSharingInvitationRequest
    ) async throws(ServerConnectionError) -> SharingInvitationUUID {
        try await perform(request, repetition: .ifNotCarriedOut).sharingInvitationUUID
    }

    /// Requests the details of an invitation; needs no credentials.
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
