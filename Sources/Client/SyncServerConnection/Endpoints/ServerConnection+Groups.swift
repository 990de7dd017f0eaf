public import SyncProtocol

extension ServerConnection {
    /// Creates a sharing group with the caller as its admin; takes an owning account.
    /// - Throws: ``ServerConnectionError/Code/refused`` with ``ServerErrorCode/groupExists`` or
    ///   ``ServerErrorCode/owningAccountRequired``, among others.
    public func createSharingGroup(_ request: CreateSharingGroupRequest) async throws(ServerConnectionError) {
        _ = try await perform(request, repetition: .ifRecognised)
    }

    /// Renames a sharing group; the master version is one more afterwards.
    public func updateSharingGroup(
        _ request: UpdateSharingGroupRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Removes a sharing group for all its members. Files in cloud storage stay.
    public func removeSharingGroup(
        _ request: RemoveSharingGroupRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Takes the caller out of a sharing group. Files in cloud storage stay.
    public func removeUserFromSharingGroup(
        _ request: RemoveUserFromSharingGroupRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Lists the members of a sharing group with what each may do.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server lacks it, among others.
    public func sharingGroupMembers(
        _ group: SharingGroupUUID
    ) async throws(ServerConnectionError) -> GetSharingGroupMembersResponse {
        try await perform(GetSharingGroupMembersRequest(sharingGroupUUID: group), repetition: .always)
    }

    /// Gives a member of a sharing group another permission; the master version is one more afterwards.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server lacks it, among others.
    public func updateSharingGroupMember(
        _ request: UpdateSharingGroupMemberRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// Takes a member out of a sharing group; the master version is one more afterwards.
    /// - Throws: ``ServerConnectionError/Code/notSupported`` if the server lacks it, among others.
    public func removeSharingGroupMember(
        _ request: RemoveSharingGroupMemberRequest
    ) async throws(ServerConnectionError) -> Outcome<Void> {
        try await checked(request)
    }

    /// A second time would be stale or gone, and so not tell whether the first succeeded.
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
