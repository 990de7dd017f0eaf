public import SyncProtocol

extension ServerConnection {
    /// Checks whether the server works, including its database; needs no credentials.
    public func healthCheck() async throws(ServerConnectionError) -> HealthCheckResponse {
        try await perform(HealthCheckRequest(), repetition: .always)
    }

    /// Asks the server to identify the caller; signs in an existing user.
    ///
    /// Sent only once, and its answer counts: it is retried neither unchanged nor with other credentials.
    public func checkCredentials() async throws(ServerConnectionError) -> SignInOutcome {
        do throws(ServerConnectionError) {
            let request = CheckCredsRequest(reportIdentity: true)
            return .user(try await signedIn(request, repetition: .never) { ($0.userId, $0.identity) }.user)
        } catch {
            guard error.code == .signInRequired, error.status == 401 else { throw error }
            if error.serverCode == .known(.accountRetired) {
                return .retired(activeAccountType: error.activeAccountType, undoUntil: error.undoUntil)
            }
            return .noUser(error.serverCode)
        }
    }

    /// Creates a user of an owning account type, and the user's first sharing group.
    /// - Throws: ``ServerConnectionError/Code/refused`` with ``ErrorCode/userExists``,
    ///   ``ErrorCode/groupExists`` or ``ErrorCode/owningAccountRequired``, among others.
    public func addUser(_ request: AddUserRequest) async throws(ServerConnectionError) -> SignedInUser {
        try await signedIn(request, repetition: .ifRecognised) { ($0.userId, $0.identity) }.user
    }

    /// Removes the caller with all memberships. Files in cloud storage are kept.
    public func removeUser() async throws(ServerConnectionError) {
        _ = try await perform(RemoveUserRequest(), repetition: .ifNotCarriedOut)
    }

    /// Accepts an invitation and creates the user if necessary.
    public func redeemSharingInvitation(
        _ request: RedeemSharingInvitationRequest
    ) async throws(ServerConnectionError) -> RedemptionOutcome {
        do throws(ServerConnectionError) {
            let (user, response) = try await signedIn(request, repetition: .ifRecognised) {
                ($0.userId, $0.identity)
            }
            return .joined(user, response.sharingGroupUUID)
        } catch {
            switch (error.status, error.serverCode) {
            case (403, _): return .storageAccountRequired
            case (_, .known(.invitationUnknown)?): return .invitationUnknown
            default: throw error
            }
        }
    }

    /// Registers this device for push notifications; the last registration counts.
    public func registerPushNotificationToken(
        _ request: RegisterPushNotificationTokenRequest
    ) async throws(ServerConnectionError) {
        _ = try await perform(request, repetition: .always)
    }

    /// Sends a request whose reply headers contain information about the user's sign-in.
    private func signedIn<Message: RequestMessage>(
        _ message: Message, repetition: Repetition,
        who: @Sendable (Message.Response) -> (userID: UserID, identity: AccountIdentity?)
    ) async throws(ServerConnectionError) -> (user: SignedInUser, response: Message.Response) {
        let call = Call(message, repetition: repetition)
        return try await perform(call) { reply throws(ServerConnectionError) in
            let response: Message.Response = try reply.message(of: Message.endpoint)
            let (userID, identity) = who(response)
            let user = SignedInUser(
                userID: userID, accessToken: reply.header(.accessToken).map(Secret.init),
                lacksOfflineAccess: reply.header(.offlineAccess) == "none", identity: identity)
            return (user, response)
        }
    }
}
