public import SyncProtocol

extension ServerConnection {
    /// Creates a sharing group with the caller as its admin; requires an owning account.
    /// - Throws: ``ServerConnectionError/Code/refused`` with ``ServerErrorCode/groupExists`` or
    ///   ``ServerErrorCode/owningAccountRequired``, among others.
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
