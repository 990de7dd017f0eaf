public import Foundation

/// Who is signed in to a program, from one start of it to the next.
///
/// Sign-in is sticky: neither a provider that cannot be reached nor one that refuses a refresh signs the person out, only
/// ``signOut()`` does. What is new is stored before it is used, so that a refresh token is not lost.
public actor AccountSession: AccountCredentialProvider {
    private let scheme: AccountScheme
    private let store: any CredentialStore
    private let client: TokenClient
    private var current: AccountCredentials?
    private var renewal: Task<AccountCredentials, any Error>?

    /// A session with whoever was signed in last.
    /// - Throws: ``SignInError/Code/storageFailed``, ``SignInError/Code/storageInsecure``.
    public init(
        _ scheme: AccountScheme, store: any CredentialStore, transport: ProviderTransport = .urlSession(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SignInError) {
        self.scheme = scheme
        self.store = store
        client = TokenClient(scheme: scheme, transport: transport, now: now)
        let stored = try store.load()
        current = stored?.accountType == scheme.accountType ? stored : nil
    }

    public func credentials() -> AccountCredentials? { current }

    /// Takes over who has just signed in.
    /// - Throws: ``SignInError/Code/storageFailed``; then nobody else is signed in than before.
    public func signIn(_ credentials: AccountCredentials) throws(SignInError) {
        guard credentials.accountType == scheme.accountType else {
            throw SignInError(.misconfigured, "credentials of another kind of account")
        }
        try store.save(credentials)
        renewal = nil
        current = credentials
    }

    /// Forgets the person.
    public func signOut() throws(SignInError) {
        try store.remove()
        renewal = nil
        current = nil
    }

    /// Notes that the server has answered CheckCreds, AddUser or RedeemSharingInvitation with 200: it has exchanged the
    /// code of `accepted`, which is not sent again.
    public func serverGrantWasTaken(with accepted: AccountCredentials) throws(SignInError) {
        guard var credentials = current, credentials.serverGrant != nil,
            credentials.serverGrant == accepted.serverGrant
        else { return }
        credentials.serverGrant = nil
        try store.save(credentials)
        current = credentials
    }

    public func refresh(_ refused: AccountCredentials) async throws(SignInError) -> AccountCredentials {
        guard let credentials = current, credentials.isSameAccount(as: refused) else {
            throw SignInError(.signInRequired, "nobody is signed in")
        }
        // Somebody else was faster.
        guard credentials.accessToken == refused.accessToken, credentials.idToken == refused.idToken else {
            return credentials
        }
        guard let refreshToken = credentials.refreshToken else {
            throw SignInError(.signInRequired, "no refresh token")
        }
        let client = client
        let task = renewal ?? Task { try await self.renew(credentials, by: refreshToken, through: client) }
        renewal = task
        do {
            return try await task.value
        } catch let error as SignInError { throw error } catch { throw SignInError(.failed) }
    }

    private func renew(
        _ credentials: AccountCredentials, by refreshToken: String, through client: TokenClient
    ) async throws -> AccountCredentials {
        defer { renewal = nil }
        let tokens = try await client.refresh(refreshToken)
        // The person may have signed out, or in anew, or the server may have taken the code meanwhile.
        guard let latest = current, latest.refreshToken == refreshToken else {
            guard let current, current.isSameAccount(as: credentials) else { throw SignInError(.signInRequired) }
            return current
        }
        let renewed = client.credentials(tokens, of: latest.person, keeping: latest)
        try store.save(renewed)
        current = renewed
        return renewed
    }
}
