import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

// Authenticating the caller.
extension RequestContext {
    /// Determines whose token it is.
    /// - Throws: ``Refusal`` or ``AccountError``, sent as 401 unless the provider is unavailable.
    func signIn() throws -> SignedInPerson {
        let (presented, account) = try presentedCredentials()
        let profile: SignInProfile
        var isFresh = false
        switch services.signInCache.answer(for: presented)
            ?? profileInTicket(for: presented).map(SignInCache.Answer.accepted)
        {
        case .accepted(let known):
            profile = known
            if services.signInCache.beginRenewal(of: presented) { renew(presented, with: account) }
        case .rejected(let error): throw error
        case nil:
            profile = try verify(presented, by: account)
            isFresh = true
        }
        if let token = profile.identityToken {
            try IdentityTokens(context: self).admit(token, of: presented.accountType, profile.providerUserID)
        }
        guard let text = head.header(.deviceUUID) else { throw Refusal(.missingHeader) }
        guard let device = DeviceUUID(text) else {
            throw Refusal(.malformedHeader, "SyncServer-Device-UUID must be a UUID")
        }
        if let redirectURI = presented.redirectURI, !isAllowedRedirect(redirectURI) {
            throw Refusal(
                .malformedHeader,
                "SyncServer-redirect-uri must be http on a loopback host with a port, or an allowed URI")
        }
        guard head.header(.codeVerifier) == nil || presented.codeVerifier != nil else {
            throw Refusal(
                .malformedHeader, "SyncServer-code-verifier must be 43 to 128 unreserved characters")
        }
        let person = SignedInPerson(
            presented: presented, account: account, profile: profile, device: device, isFresh: isFresh)
        if account.requiresCode { try CredentialExchange(person, self).requireExchangedCode() }
        return person
    }

    /// Whether this process knows, without a request, that the provider accepts the token.
    var remembersSignIn: Bool {
        guard let (presented, _) = try? presentedCredentials() else { return false }
        guard case .accepted = services.signInCache.answer(for: presented) else { return false }
        return true
    }

    /// The credentials in the request's head, and the sign-in service for them.
    private func presentedCredentials() throws(Refusal) -> (PresentedCredentials, any AccountProvider) {
        guard let word = head.header(.tokenType) else { throw Refusal(.credentialsMissing) }
        guard let headerValue = head.header(.accessToken) else {
            // nginx sends the same reply for transfers (nginx/syncd-http.conf).
            throw Refusal(
                .credentialsMissing,
                "access_token is missing although X-token-type is present: a proxy may have dropped it because of the underscore; send access-token"
            )
        }
        guard let type = AccountType(tokenType: word), let account = services.storage.account(type) else {
            throw Refusal(.signInTypeNotAllowed)
        }
        let presented = PresentedCredentials(
            accountType: type, accessToken: try Self.accessToken(in: headerValue, for: account),
            authorizationCode: head.header(.authorizationCode) ?? head.header(.googleServerAuthCode),
            redirectURI: head.header(.redirectURI),
            codeVerifier: head.header(.codeVerifier).flatMap { CodeVerifier($0) },
            accountID: head.header(.accountID), microsoftAccessToken: head.header(.microsoftAccessToken),
            accountDetails: head.header(.accountDetails))
        return (presented, account)
    }

    /// The token in a header's value, even if both spellings have arrived: nginx 1.23 and later joins their values with
    /// a comma and a space; earlier releases pass on the first. No token contains these characters, but a password or a
    /// secret key may.
    private static func accessToken(
        in value: String, for account: any AccountProvider
    ) throws(Refusal) -> String {
        guard !account.acceptsPasswords else { return value }
        let tokens = value.split(separator: ", ", omittingEmptySubsequences: false)
        guard tokens.allSatisfy({ $0 == tokens[0] }) else {
            throw Refusal(.malformedHeader, "access_token and access-token are different; send one of them")
        }
        return String(tokens[0])
    }

    /// Whether this redirect URI is accepted for a code: the caller's own machine, or a URI that the operator allows.
    func isAllowedRedirect(_ text: String) -> Bool {
        LoopbackRedirectURI(text) != nil || services.settings.redirectURIs.contains(text)
    }

    /// Asks the provider whose credentials they are.
    ///
    /// An existing storage that is unrecognizable indicates an outage: maintenance, or the sign-in page of a hotel's
    /// network.
    func verify(_ presented: PresentedCredentials, by account: any AccountProvider) throws -> SignInProfile {
        do {
            return try verification.run(of: presented, by: account, through: accountClient, goOn: goOn)
        } catch AccountError.malformedDetails(let detail) {
            guard try isUser(statedBy: presented, account) else { throw AccountError.malformedDetails(detail) }
            throw AccountError.unavailable(detail: detail)
        } catch let error as AccountError {
            guard error.isSilence, account.namesAddress(in: presented), try !isUser(statedBy: presented, account)
            else { throw error }
            throw AccountError.addressDoubtful(error)
        }
    }

    private func isUser(statedBy presented: PresentedCredentials, _ account: any AccountProvider) throws -> Bool {
        guard let userID = account.statedUserID(in: presented) else { return false }
        return try verification.isUser(presented.accountType, userID)
    }

    /// Asks the provider again on another thread. If that is impossible, or the provider does not answer, a later
    /// request asks.
    private func renew(_ presented: PresentedCredentials, with account: any AccountProvider) {
        let passed = PassedToThread(
            AccountClient(
                transport: transport, deadline: .after(Self.signInTime), backoff: services.storage.backoff))
        try? services.background { [verification] in
            _ = try? verification.run(of: presented, by: account, through: passed.value)
        }
    }

    private var verification: SignInVerification {
        SignInVerification(
            cache: services.signInCache, changeStreams: services.changeStreams, failedSignIns: services.failedSignIns,
            strangeServers: services.strangeServers, network: ClientNetwork(address: head.clientAddress),
            passwords: PasswordSignIn(
                store: store, vault: services.storage.vault, memory: services.passwordMemory, now: services.now,
                logger: logger),
            isUser: { [store] accountType, userID in
                try store.withSession { try $0.user(accountType, userID, device: nil) } != nil
            })
    }

    /// The result of the role that admitted this request. While it is valid, it is remembered, so that further requests
    /// need no admission.
    private func profileInTicket(for presented: PresentedCredentials) -> SignInProfile? {
        guard let ticket = head.signInTicket,
            let contents = services.signInTickets?.contents(of: ticket, for: presented, at: now.secondsSince1970)
        else { return nil }
        services.signInCache.remember(contents.profile, for: presented, during: contents.settledTime)
        return contents.profile
    }

    /// The sign-in result for another role, so that it need not ask the provider again.
    func signInTicket(for person: SignedInPerson) -> String? {
        services.signInTickets?.issue(
            person.profile, for: person.presented, settledTime: services.signInCache.settledTime(of: person.presented),
            at: now.secondsSince1970)
    }

    /// Finds the user of a person's account, and registers the device if it is new.
    /// - Parameter route: the endpoint's row of the table.
    /// - Throws: ``ErrorCode/userUnknown``, ``ErrorCode/accountRetired``, ``ErrorCode/staleEpoch``,
    ///   ``ErrorCode/tooManyDevices``, ``ErrorCode/restoring``, ``StoreError``.
    func user(_ person: SignedInPerson, at route: EndpointRoute) throws -> SignedInUser {
        let (accountType, providerUserID) = (person.presented.accountType, person.profile.providerUserID)
        var found = try store.withSession { session in
            let found = try session.user(accountType, providerUserID, device: person.device)
            if found == nil, let active = try session.activeAccountType(insteadOf: accountType, providerUserID) {
                throw Refusal.accountRetired(
                    by: active, undoUntil: try undoTime(of: person, at: route, using: &session))
            }
            return found
        }
        if let gate = RebuildGate(self) {
            let admitted = try gate.admit(person, found?.user)
            found = admitted.map { user in (user: user, isDeviceKnown: found?.isDeviceKnown ?? false) }
        }
        guard let found else { throw Refusal(.userUnknown) }
        note(found.user)
        // Clients obtain the current epoch from CheckCreds.
        if route.endpoint != .checkCreds { try requirePresentEpoch(of: found.user) }
        if let token = person.profile.identityToken, person.isFresh {
            try IdentityTokens(context: self).remember(token, of: found.user)
        }
        if !found.isDeviceKnown { try register(person.device, of: found.user.userID) }
        return SignedInUser(person: person, record: found.user)
    }

    /// The time until which the calling device can undo the switch that retired the person's account; `nil` if it
    /// cannot, or presented no grant.
    private func undoTime(
        of person: SignedInPerson, at route: EndpointRoute, using session: inout StoreSession
    ) throws -> WireDate? {
        guard route.endpoint == .checkCreds, let grant = presentedGrant else { return nil }
        let (accountType, providerUserID) = (person.presented.accountType, person.profile.providerUserID)
        guard case .retired(let userID) = try session.binding(of: accountType, providerUserID),
            let last = try session.undoableSwitch(
                of: userID, awayFrom: accountType, providerUserID, since: services.settings.switches.undoStart(at: now)),
            !last.isUndone,
            try session.mayUndo(last.id, withGrant: grant.hash, of: person.device, at: now)
        else { return nil }
        return services.settings.switches.undoEnd(after: last.confirmedAt)
    }

    /// Rejects a client that states an outdated epoch, and thus knows the user by an earlier account.
    private func requirePresentEpoch(of user: UserRecord) throws(Refusal) {
        guard let text = head.header(.accountEpoch) else { return }
        guard let epoch = AccountEpoch(queryText: text) else {
            throw Refusal(.malformedHeader, "SyncServer-Account-Epoch must be a number of at most 64 bits")
        }
        guard epoch == user.accountEpoch else { throw Refusal(.staleEpoch) }
    }

    private func register(_ device: DeviceUUID, of userID: UserID) throws {
        let registration = try store.transaction { session in
            try session.register(device, of: userID, maximum: services.settings.quotas[.devices], at: now)
        }
        switch registration {
        case .registered: break
        case .tooMany:
            refusedQuota = .devices
            throw Refusal(.tooManyDevices)
        case .userUnknown: throw Refusal(.userUnknown)
        }
    }
}

extension AccountError {
    /// Whether the provider has not answered in its own format.
    fileprivate var isSilence: Bool {
        switch self {
        case .notAsked, .unavailable, .timedOut: true
        default: false
        }
    }
}

/// Asks providers about the tokens that callers from one network present.
struct SignInVerification: Sendable {
    let cache: SignInCache
    /// The streams that end with their token.
    let changeStreams: ChangeStreams?
    let failedSignIns: FailedSignIns
    let strangeServers: StrangeServers
    let network: ClientNetwork
    let passwords: PasswordSignIn
    /// Whether a user exists with the identifier stated in the credentials.
    let isUser: @Sendable (AccountType, _ statedUserID: String) throws -> Bool

    /// Asks the provider, unless the network has caused too many failures, or somebody else is already asking.
    /// - Parameter goOn: continues the request once somebody else has the answer (``SignInCache``).
    /// - Throws: ``ErrorCode/tooManyFailedSignIns``, ``AccountError``, ``StoreError``;
    ///   ``SignInCache/Parked``.
    func run(
        of presented: PresentedCredentials, by account: any AccountProvider, through client: AccountClient,
        goOn: SignInCache.Continuation? = nil
    ) throws -> SignInProfile {
        try cache.profile(for: presented, goOn: goOn) {
            if let delay = failedSignIns.take(from: network) {
                throw Refusal(.tooManyFailedSignIns, retryAfter: delay)
            }
            let server = account.namedServer(in: presented)
            let strange = try server.flatMap { try isStrange($0, presented, account) ? $0 : nil }
            if let strange, let delay = strangeServers.take(strange, from: network) {
                throw Refusal(.tooManyFailedSignIns, retryAfter: delay)
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
                if let error = error as? AccountError, error.isRejection { changeStreams?.end(with: presented) }
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

/// Decides whether expired identity tokens are accepted (Apple's).
///
/// An expired token is accepted only for an existing user who presented that very token before it expired.
struct IdentityTokens {
    let context: RequestContext

    /// Accepts an expired token if its user presented it before.
    /// - Throws: ``AccountError/rejected``.
    func admit(_ token: IdentityToken, of accountType: AccountType, _ providerUserID: String) throws {
        guard token.isExpired else { return }
        let user = try context.store.withSession { try $0.user(accountType, providerUserID, device: nil)?.user }
        guard let user, let kept = try vault.load(user, context.logger), kept.admits(token) else {
            throw AccountError.rejected
        }
    }

    /// Records that `user` has presented a token before it expired.
    ///
    /// Recording it twice changes nothing.
    /// - Throws: ``AccountError/rejected`` if it dates from before the person withdrew consent; ``StoreError``.
    func remember(_ token: IdentityToken, of user: UserRecord) throws {
        guard !token.isExpired else { return }
        try vault.update(user, context.logger) { kept in
            guard kept.admits(token) else { throw AccountError.rejected }
            return (kept.credentials ?? StoredCredentials()).remembering(token)
        }
    }

    private var vault: CredentialVault { context.services.storage.vault }
}
