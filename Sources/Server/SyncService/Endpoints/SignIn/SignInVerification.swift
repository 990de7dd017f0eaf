import Providers
import SyncProtocol

/// Asks providers about the tokens that callers of one network present.
struct SignInVerification: Sendable {
    let cache: SignInCache
    let failedSignIns: FailedSignIns
    let strangeServers: StrangeServers
    let network: ClientNetwork
    let passwords: PasswordSignIn
    /// Whether a user exists with the identifier stated in the credentials.
    let isUser: @Sendable (AccountType, _ statedUserID: String) throws -> Bool

    /// Asks the provider, unless the network has caused too many failures, or somebody else is already asking.
    /// - Parameter goOn: continues the request once somebody else has the answer (``SignInCache``).
    /// - Throws: ``EndpointError/tooManyFailedSignIns(retryAfter:)``, ``AccountError``, ``StoreError``;
    ///   ``SignInCache/Parked``.
    func run(
        of presented: PresentedCredentials, by account: any AccountProvider, through client: AccountClient,
        goOn: SignInCache.Continuation? = nil
    ) throws -> SignInProfile {
        try cache.profile(for: presented, goOn: goOn) {
            if let delay = failedSignIns.take(from: network) {
                throw EndpointError.tooManyFailedSignIns(retryAfter: delay)
            }
            let server = account.namedServer(in: presented)
            let strange = try server.flatMap { try isStrange($0, presented, account) ? $0 : nil }
            if let strange, let delay = strangeServers.take(strange, from: network) {
                throw EndpointError.tooManyFailedSignIns(retryAfter: delay)
            }
            do {
                let profile = try ask(
                    about: presented, account, through: strange == nil ? client : client.ofUnprovedServer)
                guard profile.isPlausible else {
                    throw AccountError.unavailable(detail: "an identifier that cannot be stored")
                }
                failedSignIns.refund(to: network)
                if let server { strangeServers.prove(server) }
                return profile
            } catch {
                // Trying one address after another is limited like trying tokens, even if nothing answers there.
                switch error {
                case AccountError.keyRejected, AccountError.rightMissing, AccountError.serverNotAllowed: break
                case let error as AccountError where error.refusesPassword: break
                case _ where strange != nil: break
                default: failedSignIns.refund(to: network)
                }
                throw error
            }
        }
    }

    private func ask(
        about presented: PresentedCredentials, _ account: any AccountProvider, through client: AccountClient
    ) throws -> SignInProfile {
        guard let account = account as? any PasswordAccounts, let claim = account.claim(of: presented) else {
            return try account.verify(presented, through: client)
        }
        return try passwords.profile(of: presented, claiming: claim, by: account, through: client)
    }

    /// Whether the caller has named a server without any known user.
    private func isStrange(
        _ server: String, _ presented: PresentedCredentials, _ account: any AccountProvider
    ) throws -> Bool {
        if strangeServers.isProved(server) { return false }
        guard let userID = account.statedUserID(in: presented) else { return true }
        return try !isUser(presented.accountType, userID)
    }
}
