public import Foundation
public import SyncProtocol
public import SyncServerConnection

/// A program's signed-in account, persisted between launches.
///
/// Sign-in is sticky: neither an unreachable provider nor a refused refresh signs the user out; only ``signOut()``
/// does. New credentials are stored before they are used, so that a refresh token is not lost.
public actor AccountSession: CredentialProvider {
    private let scheme: AccountScheme
    private let store: any CredentialStore
    private let client: TokenClient
    private var current: AccountCredentials?
    private var renewal: Task<AccountCredentials, any Error>?

    /// Creates a session with the user who was last signed in.
    /// - Throws: ``SignInError/Code/storageFailed``, ``SignInError/Code/storageInsecure``.
    public init(
        _ scheme: AccountScheme, store: any CredentialStore, transport: ProviderTransport = .system(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SignInError) {
        self.scheme = scheme
        self.store = store
        client = TokenClient(scheme: scheme, transport: transport, now: now)
        let stored = try store.load()
        current = stored?.accountType == scheme.accountType ? stored : nil
    }

    /// The signed-in account, with everything that the provider issued; `nil` if nobody is signed in.
    public var account: AccountCredentials? { current }

    public func credentials() -> Credentials? { current?.credentials }

    /// Signs in with the credentials of a completed sign-in.
    /// - Throws: ``SignInError/Code/storageFailed``; then the previous sign-in is unchanged.
    public func signIn(_ credentials: AccountCredentials) throws(SignInError) {
        guard credentials.accountType == scheme.accountType else {
            throw SignInError(.misconfigured, "credentials of another kind of account")
        }
        try store.save(credentials)
        renewal = nil
        current = credentials
    }

    /// Signs the user out.
    public func signOut() throws(SignInError) {
        try store.remove()
        renewal = nil
        current = nil
    }

    /// Discards the code that the server has exchanged, and adopts a longer-lived token. If the result cannot be
    /// stored, nothing changes.
    public func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async {
        guard var credentials = current else { return }
        if let code = accepted.authorizationCode?.value, code == credentials.serverGrant?.code {
            credentials.serverGrant = nil
        }
        if let newAccessToken, accepted.accessToken.value == credentials.accessToken {
            credentials.accessToken = newAccessToken.value
        }
        guard credentials != current, (try? store.save(credentials)) != nil else { return }
        current = credentials
    }

    /// - Throws: `CredentialRefreshFailure.unreachable` if a retry may succeed later, otherwise ``SignInError``.
    public func refresh(_ refused: Credentials) async throws -> Credentials {
        guard let current else { throw SignInError(.signInRequired, "nobody is signed in") }
        let present = current.credentials
        // Another caller has already refreshed them.
        guard present.accessToken == refused.accessToken,
            present.microsoftAccessToken == refused.microsoftAccessToken
        else { return present }
        do throws(SignInError) { return try await refresh(current).credentials } catch {
            if error.code == .providerUnavailable { throw CredentialRefreshFailure.unreachable }
            throw error
        }
    }

    /// Replaces `refused` with new credentials. Concurrent calls result in a single request to the provider.
    /// - Throws: ``SignInError/Code/signInRequired`` if the user must sign in again,
    ///   ``SignInError/Code/providerUnavailable`` if a retry may succeed later.
    public func refresh(_ refused: AccountCredentials) async throws(SignInError) -> AccountCredentials {
        guard let credentials = current, credentials.isSameAccount(as: refused) else {
            throw SignInError(.signInRequired, "nobody is signed in")
        }
        // Another caller has already refreshed them.
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
        // The user may have signed out, or in again, or the server may have accepted the code meanwhile.
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
