public import Foundation
public import SyncProtocol
public import SyncServerConnection

/// A program's signed-in account, persisted between launches.
///
/// Sign-in is sticky: neither an unreachable provider nor a refused refresh signs the user out; only ``signOut()``
/// does. New credentials are stored before they are used, so that a refresh token is not lost.
public actor AccountSession: CredentialProvider {
    /// Who renews the credentials.
    private enum Issuer {
        case provider(TokenClient)
        case library(@Sendable (AccountCredentials) async throws -> AccountCredentials)
    }

    private let accountType: AccountType
    private let store: any CredentialStore
    private let issuer: Issuer
    private var current: AccountCredentials?
    private var renewal: Task<AccountCredentials, any Error>?

    /// Creates a session with the user who was last signed in.
    /// - Throws: ``SignInError/Code/storageFailed``, ``SignInError/Code/storageInsecure``.
    public init(
        _ scheme: AccountScheme, store: any CredentialStore, transport: ProviderTransport = .system(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SignInError) {
        accountType = scheme.accountType
        self.store = store
        issuer = .provider(TokenClient(scheme: scheme, transport: transport, now: now))
        let stored = try store.load()
        current = stored?.accountType == scheme.accountType ? stored : nil
    }

    /// Creates a session, with the user who was last signed in, whose credentials the provider's own library renews.
    /// - Parameter renew: Asks the library for new tokens in place of refused ones, without the user's help; such as
    ///   `refreshTokensIfNeeded` of GoogleSignIn, or `acquireTokenSilent` of MSAL with a forced refresh. If a later call
    ///   may succeed, throws ``SignInError/Code/providerUnavailable`` or `CredentialRefreshFailure.unreachable`. Any
    ///   other error means that the user must sign in again.
    /// - Throws: What ``CredentialStore/load()`` throws.
    public init(
        _ accountType: AccountType, store: any CredentialStore,
        renew: @escaping @Sendable (AccountCredentials) async throws -> AccountCredentials
    ) throws(SignInError) {
        self.accountType = accountType
        self.store = store
        issuer = .library(renew)
        let stored = try store.load()
        current = stored?.accountType == accountType ? stored : nil
    }

    /// The signed-in account, with everything that the provider issued; `nil` if nobody is signed in.
    public var account: AccountCredentials? { current }

    public func credentials() -> Credentials? { current?.credentials }

    /// Signs in with the credentials of a completed sign-in.
    /// - Throws: ``SignInError/Code/storageFailed``; then the previous sign-in is unchanged.
    public func signIn(_ credentials: AccountCredentials) throws(SignInError) {
        guard credentials.accountType == accountType else {
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
        let task: Task<AccountCredentials, any Error>
        switch (issuer, credentials.refreshToken) {
        case (.provider(let client), let refreshToken?):
            task = renewal ?? Task { try await self.renew(credentials, by: refreshToken, through: client) }
        case (.provider, nil): throw SignInError(.signInRequired, "no refresh token")
        case (.library(let renew), _): task = renewal ?? Task { try await self.renew(credentials, through: renew) }
        }
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
        return try keep(client.credentials(tokens, of: latest.person, keeping: latest))
    }

    private func renew(
        _ credentials: AccountCredentials,
        through library: @Sendable (AccountCredentials) async throws -> AccountCredentials
    ) async throws -> AccountCredentials {
        defer { renewal = nil }
        var renewed: AccountCredentials
        do { renewed = try await library(credentials) } catch {
            let isTemporary =
                error as? CredentialRefreshFailure == .unreachable
                || (error as? SignInError)?.code == .providerUnavailable
            throw SignInError(isTemporary ? .providerUnavailable : .signInRequired, "the provider's library")
        }
        // The user may have signed out, or in again, or the server may have accepted the code meanwhile.
        guard let latest = current, latest.isSameAccount(as: credentials), latest.isSameAccount(as: renewed) else {
            throw SignInError(.signInRequired, "another account")
        }
        guard latest.accessToken == credentials.accessToken else { return latest }
        renewed.serverGrant = renewed.serverGrant ?? latest.serverGrant
        return try keep(renewed)
    }

    private func keep(_ renewed: AccountCredentials) throws(SignInError) -> AccountCredentials {
        try store.save(renewed)
        current = renewed
        return renewed
    }
}
