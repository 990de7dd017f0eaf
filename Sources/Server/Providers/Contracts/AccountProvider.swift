public import SyncProtocol

/// One kind of account with which people sign in.
public protocol AccountProvider: Sendable {
    var accountType: AccountType { get }

    /// Asks the provider who the presented token belongs to, and verifies that it was issued for our app.
    /// - Throws: ``AccountError/rejected``, or an error that says that the provider could not be asked.
    func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile

    /// The user whose credentials these would be, by what they say themselves: proves nothing.
    /// - Returns: `nil` if only the provider can tell.
    func statedUserID(in presented: PresentedCredentials) -> String?

    /// The server that the caller has named, by their word alone: its scheme, host and port.
    /// - Returns: `nil` for a company's servers, and for one that the operator lists or does not admit.
    func namedServer(in presented: PresentedCredentials) -> String?

    /// Whether the caller, and not a company or the configuration, says where the storage is.
    func namesAddress(in presented: PresentedCredentials) -> Bool

    /// Whether a token proves nothing here without a code that we have exchanged ourselves.
    var requiresCode: Bool { get }

    /// Turns an authorization code into tokens that the server may keep.
    ///
    /// - Returns: the tokens, which belong to `profile`; `nil` if this kind of account has no codes, or none that were
    ///   obtained like this one.
    /// - Throws: ``AccountError/codeRejected``, ``AccountError/scopeMissing``.
    func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials?

    /// Turns the presented token itself into tokens that the server may keep; idempotent.
    ///
    /// - Returns: the tokens; `nil` if this kind of account has no such exchange.
    /// - Throws: ``AccountError/rejected``, ``AccountError/scopeMissing``.
    func exchange(
        _ presented: PresentedCredentials, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials?

    /// Signs somebody in with nothing but a code that was requested for the server's own client and for the person's
    /// identity as well: `syncctl try` does, whose person has no phone.
    ///
    /// - Returns: `nil` if this kind of account has no codes, or they do not tell whose they are.
    /// - Throws: as ``exchange(code:of:through:)``.
    func signIn(with code: PresentedCode, through client: AccountClient) throws(AccountError) -> CodeSignIn?

    /// Whether ``exchange(_:of:through:)`` asks the provider for anything.
    var exchangesTokens: Bool { get }

    /// Makes sure that the account of a new user has storage; does nothing where every account of this kind has it.
    ///
    /// Only a provider's word that there is none counts: whatever else it says, and its silence, is left to the first use.
    /// - Throws: ``AccountError/storageMissing(detail:)``; of storages that people name,
    ///   ``AccountError/storageUnusable(_:)``, or an error that says that the server could not be asked.
    func requireStorage(with credentials: StoredCredentials, through client: AccountClient) throws(AccountError)

    /// What to keep of the presented credentials when there is nothing to exchange.
    func credentials(from presented: PresentedCredentials) -> StoredCredentials

    /// A longer-lived token for the phone itself, for accounts whose provider hands those out.
    func replacementToken(
        for presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> String?

    /// Renews the access token.
    /// - Returns: what the provider sent, to be merged with what is stored then.
    /// - Throws: ``AccountError/revoked`` if the provider says that it never will.
    func refresh(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) -> StoredCredentials

    /// Whether the stored token has to rest, since the provider refused it a moment ago and slows down whoever repeats it.
    func isResting(_ stored: StoredCredentials) -> Bool

    /// Whether it is time to ask the provider if the stored credentials are still valid, where the server has to do
    /// that itself.
    func isConfirmationDue(_ stored: StoredCredentials) -> Bool

    /// Asks the provider if the stored credentials are still valid; only if ``isConfirmationDue(_:)``.
    /// - Returns: what to store from now on.
    /// - Throws: ``AccountError/revoked`` if they are not; then ``withdrawn(_:)`` is what to store.
    func confirm(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) -> StoredCredentials

    /// Revokes at the provider what the person granted, when they leave; idempotent.
    ///
    /// Does nothing where the provider has no such call, or where it would revoke more than what the server was given.
    /// - Throws: an error that says that the provider could not be asked. A grant that has ended already is no failure.
    func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError)

    /// Whether the app maker has registered the server with the provider.
    var hasRegistration: Bool { get }

    /// Asks the provider whether it knows the app maker's registration, client id and secret, without anybody's token.
    /// - Throws: ``AccountError/misconfigured(detail:)`` if it does not; another error if that could not be determined.
    func checkRegistration(through client: AccountClient) throws(AccountError)

    /// What is left of stored credentials that the provider no longer honours.
    func withdrawn(_ stored: StoredCredentials) -> StoredCredentials
}

extension AccountProvider {
    /// The token with which to ask the provider now.
    /// - Throws: ``CloudStorageError/authorizationRevoked``; ``CloudStorageError/unavailable(detail:)`` while it has to rest.
    public func usableToken(of stored: StoredCredentials) throws(CloudStorageError) -> String {
        guard let token = stored.usableToken else { throw .authorizationRevoked }
        if isResting(stored) { throw .unavailable(detail: "the password was refused a moment ago") }
        return token
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
