public import SyncProtocol

/// One kind of account with which people sign in.
public protocol AccountProvider: Sendable {
    var accountType: AccountType { get }

    /// Whether the presented access token may be a password or a secret key, which may contain any characters.
    var acceptsPasswords: Bool { get }

    /// Asks the provider to whom the presented token belongs, and verifies that it was issued for our app.
    /// - Throws: ``AccountError/rejected``, or an error that means that the provider could not be asked.
    func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile

    /// The user to whom the credentials claim to belong; proves nothing.
    /// - Returns: `nil` if only the provider knows.
    func statedUserID(in presented: PresentedCredentials) -> String?

    /// The server that the caller claims to use: its scheme, host and port.
    /// - Returns: `nil` for a company's server, and for a server that the operator lists or does not allow.
    func namedServer(in presented: PresentedCredentials) -> String?

    /// Whether the caller, rather than a company or the configuration, determines the storage's address.
    func namesAddress(in presented: PresentedCredentials) -> Bool

    /// Whether a token proves nothing without a code that we have exchanged ourselves.
    var requiresCode: Bool { get }

    /// Exchanges an authorization code for tokens that the server may keep.
    ///
    /// - Returns: the tokens, which belong to `profile`; `nil` if this kind of account has no codes, or none obtained
    ///   like this one.
    /// - Throws: ``AccountError/codeRejected``, ``AccountError/scopeMissing``.
    func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials?

    /// Exchanges the presented token itself for tokens that the server may keep; idempotent.
    ///
    /// - Returns: the tokens; `nil` if this kind of account has no such exchange.
    /// - Throws: ``AccountError/rejected``, ``AccountError/scopeMissing``.
    func exchange(
        _ presented: PresentedCredentials, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials?

    /// Signs a person in with only a code that was requested for the server's own client and that also covers the
    /// person's identity; for `syncctl try`, which works without a phone.
    ///
    /// - Returns: `nil` if this kind of account has no codes, or they do not identify the person.
    /// - Throws: as ``exchange(code:of:through:)``.
    func signIn(with code: PresentedCode, through client: AccountClient) throws(AccountError) -> CodeSignIn?

    /// Whether ``exchange(_:of:through:)`` calls the provider.
    var exchangesTokens: Bool { get }

    /// Ensures that a new user's account has storage; does nothing where every account of this kind has it.
    ///
    /// Only a provider's explicit reply that there is no storage counts; any other reply, or none, is ignored until the
    /// first use.
    /// - Throws: ``AccountError/storageMissing(detail:)``; for storages that people name,
    ///   ``AccountError/storageUnusable(_:)``, or an error that means that the server could not be asked.
    func requireStorage(with credentials: StoredCredentials, through client: AccountClient) throws(AccountError)

    /// The part of the presented credentials to store if there is nothing to exchange.
    func credentials(from presented: PresentedCredentials) -> StoredCredentials

    /// A longer-lived token for the phone itself, for accounts whose provider issues such tokens.
    func replacementToken(
        for presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> String?

    /// Renews the access token.
    /// - Returns: the provider's new tokens, to be merged with those stored at that time.
    /// - Throws: ``AccountError/revoked`` if the provider reports that the refresh token no longer works.
    func refresh(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) -> StoredCredentials

    /// Whether the stored token must not be used for now, since the provider has just rejected it and slows down
    /// callers who repeat it.
    func isResting(_ stored: StoredCredentials) -> Bool

    /// Whether it is time to ask the provider if the stored credentials are still valid, for providers that require the
    /// server to do so.
    func isConfirmationDue(_ stored: StoredCredentials) -> Bool

    /// Asks the provider if the stored credentials are still valid; call it only if ``isConfirmationDue(_:)``.
    /// - Returns: the credentials to store from now on.
    /// - Throws: ``AccountError/revoked`` if they are not; in that case ``withdrawn(_:)`` returns what to store.
    func confirm(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) -> StoredCredentials

    /// Revokes a person's grant at the provider when they leave; idempotent.
    ///
    /// Does nothing if the provider has no such call, or if the call would revoke more than the server's own grant.
    /// - Throws: an error that means that the provider could not be asked. A grant that has ended already is not an
    ///   error.
    func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError)

    /// Whether the app maker has registered the server with the provider.
    var hasRegistration: Bool { get }

    /// Asks the provider whether it knows the app maker's registration, client ID and secret, without a user's token.
    /// - Throws: ``AccountError/misconfigured(detail:)`` if it does not; a different error if that could not be
    ///   determined.
    func checkRegistration(through client: AccountClient) throws(AccountError)

    /// The remainder of stored credentials that the provider no longer honours.
    func withdrawn(_ stored: StoredCredentials) -> StoredCredentials
}

extension AccountProvider {
    /// The token for the next request to the provider.
    /// - Throws: ``CloudStorageError/authorizationRevoked``; ``CloudStorageError/unavailable(detail:)`` while the token
    ///   must not be used.
    public func usableToken(of stored: StoredCredentials) throws(CloudStorageError) -> AccessToken {
        guard let token = stored.usableToken else { throw .authorizationRevoked }
        if isResting(stored) { throw .unavailable(detail: "the password was rejected a moment ago") }
        return AccessToken(token, at: stored.location)
    }

    public func statedUserID(in presented: PresentedCredentials) -> String? { nil }

    public func namedServer(in presented: PresentedCredentials) -> String? { nil }

    public func namesAddress(in presented: PresentedCredentials) -> Bool { namedServer(in: presented) != nil }

    public func isResting(_ stored: StoredCredentials) -> Bool { false }

    public var requiresCode: Bool { false }

    public var hasRegistration: Bool { true }

    public var exchangesTokens: Bool { false }

    public func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? { nil }

    public func exchange(
        _ presented: PresentedCredentials, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? { nil }

    public func signIn(
        with code: PresentedCode, through client: AccountClient
    ) throws(AccountError) -> CodeSignIn? { nil }

    public func requireStorage(
        with credentials: StoredCredentials, through client: AccountClient
    ) throws(AccountError) {}

    public func replacementToken(
        for presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> String? { nil }

    public func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials { throw .revoked }

    public func isConfirmationDue(_ stored: StoredCredentials) -> Bool { false }

    public func confirm(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials { stored }

    public func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) {}

    public func withdrawn(_ stored: StoredCredentials) -> StoredCredentials { StoredCredentials() }
}

/// The result of a sign-in with only an authorization code of the server's own client: the tokens obtained, and the
/// credentials that a phone with these tokens would present.
public struct CodeSignIn: Sendable {
    public var presented: PresentedCredentials
    /// The tokens that the server keeps.
    public var stored: StoredCredentials

    init(presented: PresentedCredentials, tokens: OAuthTokens) {
        self.presented = presented
        stored = StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }
}

/// Accounts whose users present a user name and a password to a server that they name.
///
/// Such a server may show a folder to everybody, or accept any password. Accepting a password proves the person's
/// identity only if the server would have rejected a different one.
public protocol PasswordAccounts: AccountProvider {
    /// The claim in presented credentials; `nil` if they do not consist of a user name and a password.
    func claim(of presented: PresentedCredentials) -> PasswordClaim?

    /// Whether the server rejects a stranger who claims to be this person.
    /// - Parameters:
    ///   - stranger: how the stranger authenticates.
    ///   - request: what the stranger requests; it changes nothing.
    /// - Throws: an error that means that the server could not be asked.
    func refuses(
        _ stranger: Stranger, inPlaceOf presented: PresentedCredentials, asking request: StrangersRequest,
        through client: AccountClient
    ) throws(AccountError) -> Bool

    /// Whether the server rejects a request by the person themselves that only the folder's owner may make. Changes
    /// nothing.
    func refusesOwner(_ presented: PresentedCredentials, through client: AccountClient) throws(AccountError) -> Bool
}

/// Somebody who is not the person.
public enum Stranger: Sendable {
    /// Presents no credentials, which no server counts as a wrong password.
    case anonymous
    /// Presents a password that nobody has.
    case withMadeUpPassword
}

/// A request to a server in the name of a stranger.
public enum StrangersRequest: Sendable {
    /// Show the folder.
    case look
    /// Create the folder, which already exists.
    case write
}

/// A user name and a password for a server, as presented by a person.
public struct PasswordClaim: Equatable, Sendable {
    /// The server, as host and port. It slows down callers who try wrong passwords.
    public let server: String
    /// The user name on that server.
    public let user: String
    /// The person's identity if the claim is true (``AccountProvider/statedUserID(in:)``).
    public let identity: String
    /// The area within which user names and passwords are checked in one way: an installation of Nextcloud or ownCloud,
    /// otherwise the folder.
    public let realm: String
    /// Whether all user names of the realm are checked in the same way.
    public let isRealmOfAllUsers: Bool
    /// SHA-256 of all presented values, in hexadecimal digits.
    public let digest: String

    public init(
        server: String, user: String, identity: String, realm: String, isRealmOfAllUsers: Bool, digest: String
    ) {
        self.server = server
        self.user = user
        self.identity = identity
        self.realm = realm
        self.isRealmOfAllUsers = isRealmOfAllUsers
        self.digest = digest
    }
}
