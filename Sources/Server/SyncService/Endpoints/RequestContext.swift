import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// One request on its way through the server; used by one thread.
final class RequestContext {
    let head: RequestHead
    let connection: any ClientConnection
    let body: RequestBody
    let services: Services
    let transport: Transport
    var deadline: Deadline
    var logger: Logger
    /// Whether this request has committed staged changes, itself and for the first time; for statistics.
    var hasCommitted = false
    /// The quota for which the request is refused, if it is; for statistics.
    var refusedQuota: Quota?
    /// Whether this request has stored tokens of an account with storage without a refresh token; for statistics.
    var hasSignedInWithoutOfflineAccess = false
    /// Headers that the endpoint adds to its reply.
    var replyHeaders: [(name: String, value: String)] = []

    /// What the phone presented, once it has been looked at.
    private(set) var presented: PresentedCredentials?
    private var identity: Identity?

    /// The user who is asking, if that is known by now.
    var knownCaller: UserRecord? { identity?.user }

    private struct Identity {
        var profile: SignInProfile
        var device: DeviceUUID
        var user: UserRecord?
        /// Whether the provider, or its signature, was asked for this very request.
        var isFresh: Bool
    }

    init(
        head: RequestHead, connection: any ClientConnection, services: Services, transport: Transport, logger: Logger
    ) {
        self.head = head
        self.connection = connection
        var services = services
        services.store = services.store.serving(head.requestID)
        self.services = services
        self.transport = transport
        self.logger = logger
        body = RequestBody(of: connection, announcedBytes: head.contentLength)
        deadline = .after(services.settings.requestTime)
    }

    var store: Store { services.store }
    /// The time of this request, by the database's clock: read once, so that rows and reply agree.
    ///
    /// What is compared while the request goes on, such as a lease, takes ``Services/now`` afresh.
    private(set) lazy var now = services.now()
    /// Makes the present the time of this request, which has waited for its body until now.
    func restartClock() { now = services.now() }

    /// How long a sign-in service may take: threads that wait for one are not there for others.
    static let signInTime: Duration = .seconds(9)

    /// A client for sign-in services that keeps to this request's deadline, and to ``signInTime`` from now on.
    var accountClient: AccountClient {
        AccountClient(
            transport: transport, deadline: deadline.orAfter(Self.signInTime), backoff: services.storage.backoff)
    }

    // MARK: Who asks

    /// Who the provider says is asking. Only on endpoints that require a token.
    var profile: SignInProfile { required(identity).profile }
    /// The device that is asking. Only on endpoints that require a token.
    var device: DeviceUUID { required(identity).device }
    /// The user who is asking. Only on endpoints that require a user.
    var caller: UserRecord { required(required(identity).user) }

    /// Finds out who presents the token.
    /// - Throws: ``EndpointError`` or ``AccountError``, 401 on the wire unless the provider cannot be asked.
    func signIn() throws {
        guard let word = head.header(.tokenType), let accessToken = head.header(.accessToken) else {
            throw EndpointError.credentialsMissing
        }
        guard let type = AccountType(tokenType: word), let account = services.storage.account(type) else {
            throw EndpointError.signInTypeNotAllowed
        }
        let verifier = head.header(.codeVerifier)
        let presented = PresentedCredentials(
            accountType: type, accessToken: accessToken,
            authorizationCode: head.header(.authorizationCode) ?? head.header(.googleServerAuthCode),
            redirectURI: head.header(.redirectURI), codeVerifier: verifier.flatMap { CodeVerifier($0) },
            accountID: head.header(.accountID), microsoftAccessToken: head.header(.microsoftAccessToken),
            accountDetails: head.header(.accountDetails))
        let profile: SignInProfile
        var isFresh = false
        switch services.signInCache.answer(for: presented)
            ?? profileInTicket(for: presented).map(SignInCache.Answer.accepted)
        {
        case .accepted(let known): profile = known
        case .rejected: throw AccountError.rejected
        case nil:
            profile = try verify(presented, by: account)
            isFresh = true
        }
        if let token = profile.identityToken {
            try IdentityTokens(context: self).admit(token, of: type, profile.providerUserID)
        }
        guard let text = head.header(.deviceUUID) else { throw EndpointError.missingDeviceUUID }
        guard let device = DeviceUUID(text) else { throw EndpointError.malformedDeviceUUID }
        if let redirectURI = presented.redirectURI, !isAllowedRedirect(redirectURI) {
            throw EndpointError.malformedRedirectURI
        }
        guard verifier == nil || presented.codeVerifier != nil else { throw EndpointError.malformedCodeVerifier }
        self.presented = presented
        identity = Identity(profile: profile, device: device, isFresh: isFresh)
        if account.requiresCode { try CredentialExchange(self).requireExchangedCode() }
    }

    /// Whether a code may be said to have been taken there: to the caller's own machine, or where the operator says.
    private func isAllowedRedirect(_ text: String) -> Bool {
        LoopbackRedirectURI(text) != nil || services.settings.redirectURIs.contains(text)
    }

    /// Asks the provider, unless the caller's network has made us ask in vain too often, or another request asks already.
    private func verify(_ presented: PresentedCredentials, by account: any AccountProvider) throws -> SignInProfile {
        try services.signInCache.profile(for: presented) {
            let network = ClientNetwork(address: head.clientAddress)
            if let delay = services.failedSignIns.take(from: network) {
                throw EndpointError.tooManyFailedSignIns(retryAfter: delay)
            }
            do throws(AccountError) {
                let profile = try account.verify(presented, through: accountClient)
                guard profile.isPlausible else { throw .unavailable(detail: "an identifier that cannot be kept") }
                services.failedSignIns.refund(to: network)
                return profile
            } catch {
                if error != .rejected { services.failedSignIns.refund(to: network) }
                throw error
            }
        }
    }

    /// What the role that admitted this request has found out.
    private func profileInTicket(for presented: PresentedCredentials) -> SignInProfile? {
        guard let ticket = head.signInTicket else { return nil }
        return services.signInTickets?.profile(in: ticket, for: presented, at: now.secondsSince1970)
    }

    /// What spares another role the question who asks, once this one knows.
    var signInTicket: String? {
        guard let presented, let profile = identity?.profile else { return nil }
        return services.signInTickets?.issue(profile, for: presented, at: now.secondsSince1970)
    }

    /// Finds the user of the presented account, and registers the device if it is new.
    /// - Throws: ``EndpointError/userUnknown``, ``EndpointError/tooManyDevices``, ``StoreError``.
    func findUser() throws {
        let presented = required(presented)
        let found = try store.withSession { session in
            try session.user(presented.accountType, profile.providerUserID, device: device)
        }
        guard let found else { throw EndpointError.userUnknown }
        identity?.user = found.user
        logger[metadataKey: LogKey.userID.rawValue] = "\(found.user.userID)"
        if let token = profile.identityToken, identity?.isFresh == true {
            try IdentityTokens(context: self).remember(token, of: found.user.userID)
        }
        guard !found.isDeviceKnown else { return }
        let registration = try store.transaction { session in
            try session.register(
                device, of: found.user.userID, maximum: services.settings.quotas[.devices], at: now)
        }
        switch registration {
        case .registered: break
        case .tooMany:
            refusedQuota = .devices
            throw EndpointError.tooManyDevices
        case .userUnknown: throw EndpointError.userUnknown
        }
    }

    /// The caller's membership in a group.
    /// - Throws: ``EndpointError/notAMember``, ``EndpointError/permissionTooLow(needed:)``.
    func membership(in group: SharingGroupUUID, needing permission: Permission) throws -> Membership {
        try store.withSession { session in
            try self.membership(in: group, needing: permission, using: &session)
        }
    }

    /// The same, as part of a transaction.
    func membership(
        in group: SharingGroupUUID, needing permission: Permission, using session: inout StoreSession
    ) throws -> Membership {
        try allowed(session.membership(of: caller.userID, in: group), needing: permission)
    }

    /// What counts of a membership that was read before its group's row was locked: all of it if the master version is still
    /// the same, else what stands there now; the change that was faster may have taken rights from the caller.
    /// - Parameter version: the master version that the lock has found.
    /// - Throws: ``EndpointError/notAMember``, ``EndpointError/permissionTooLow(needed:)``.
    func membership(
        _ read: Membership, lockedAt version: MasterVersion, needing permission: Permission,
        using session: inout StoreSession
    ) throws -> Membership {
        guard read.masterVersion != version else { return read }
        return try membership(in: read.groupUUID, needing: permission, using: &session)
    }

    /// The caller's membership as it was read, if it is one and permits enough.
    /// - Throws: ``EndpointError/notAMember``, ``EndpointError/permissionTooLow(needed:)``.
    func allowed(_ membership: Membership?, needing permission: Permission) throws(EndpointError) -> Membership {
        guard let membership else { throw .notAMember }
        guard membership.permission >= permission else { throw .permissionTooLow(needed: permission) }
        return membership
    }

    private func required<Value>(_ value: Value?) -> Value {
        guard let value else { preconditionFailure("the endpoint's route does not ask for this identity") }
        return value
    }

    // MARK: Storage

    /// The storage of `owner`, with this request's deadline.
    /// - Throws: ``EndpointError/ownerRemoved`` if they have left.
    func storage(of owner: OwningUser) throws -> UserStorage {
        let user: UserRecord? =
            owner.userID == caller.userID ? caller : try store.withSession { try $0.user(owner.userID) }
        guard let user else { throw EndpointError.ownerRemoved }
        return try services.storage.storage(of: user, transport: transport, deadline: deadline, logger: logger)
    }
}
