public import FoundationEssentials
import HTTPTransport
import HTTPTypes
public import SyncProtocol

/// Microsoft accounts of people and of organizations. They involve three kinds of tokens: an ID token, which identifies
/// the person who signed in to our app; an access token for Graph; and the server's own tokens, obtained for a code or
/// on behalf of the person (Microsoft identity platform, "OAuth 2.0 authorization code flow", "OAuth 2.0 On-Behalf-Of
/// flow").
public struct MicrosoftAccount: AccountProvider {
    private static let authority = "https://login.microsoftonline.com/common"
    private static let token = authority + "/oauth2/v2.0/token"
    private static let me = "https://graph.microsoft.com/v1.0/me"
    /// Without `offline_access`, Microsoft issues no refresh token.
    private static let scope =
        "https://graph.microsoft.com/User.Read https://graph.microsoft.com/Files.ReadWrite.AppFolder offline_access"

    private let tokenEndpoint: TokenEndpoint
    private let keys: PublishedKeys
    private let policy: IDTokenPolicy
    private let redirectURI: String?
    private let allowsIDTokens: Bool
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - clientID: the application's ID, for which apps obtain their ID tokens.
    ///   - redirectURI: for callers that request codes without naming one; `nil` if they use none.
    ///   - allowsIDTokens: whether an ID token is exchanged on behalf of the person, as deployed clients require.
    ///     Microsoft's documentation excludes that (`AADSTS240002`) and requires an access token for the app's own API.
    ///   - now: the clock, for tests to control.
    public init(
        clientID: String, clientSecret: String, redirectURI: String? = nil, allowsIDTokens: Bool = true,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.redirectURI = redirectURI
        self.allowsIDTokens = allowsIDTokens
        tokenEndpoint = TokenEndpoint(
            of: .microsoft, named: "Microsoft", at: Self.token, clientID: clientID, clientSecret: clientSecret
        ) { reply, purpose in
            switch purpose {
            case .exchange: MicrosoftRefusal(reply).ofExchange
            case .exchangeAfterRedirect: MicrosoftRefusal(reply).ofCode
            case .renewal: MicrosoftRefusal(reply).ofRenewal
            }
        }
        self.now = now
        keys = PublishedKeys(of: .microsoft, at: Self.authority + "/discovery/v2.0/keys")
        policy = IDTokenPolicy(
            issuer: .perTenant(template: "https://login.microsoftonline.com/{tenantid}/v2.0"), audiences: [clientID])
    }

    public var accountType: AccountType { .microsoft }
    public var acceptsPasswords: Bool { false }

    /// The ID token proves that the person signed in to our app, and Graph returns the identifier that identifies them
    /// for us. Both must belong to the same person; otherwise any access token would suffice.
    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        guard let accessToken = presented.microsoftAccessToken else { throw .rejected }
        let payload = try keys.verifiedPayload(of: presented.accessToken, through: client)
        let now = now()
        let claims = try policy.claims(in: payload, at: now)
        guard !policy.isExpired(claims, at: now), let objectID = claims.oid else { throw .rejected }
        let user = try me(accessToken, through: client)
        let identifier = Self.normalized(user.id)
        guard !identifier.isEmpty, identifier == Self.normalized(objectID) else { throw .rejected }
        return SignInProfile(
            providerUserID: user.id, displayName: user.displayName ?? "", tokenLifetime: claims.lifetime(at: now))
    }

    /// The digits of an identifier: the `oid` of a personal account is a UUID that consists of Graph's ID padded with
    /// leading zeros.
    private static func normalized(_ identifier: String) -> String {
        String(identifier.lowercased().filter { $0 != "-" }.drop { $0 == "0" })
    }

    private func me(_ token: String, through client: AccountClient) throws(AccountError) -> MicrosoftUser {
        // Sent in a header, since tokens in URLs get logged.
        let reply = try client.send(
            OutgoingRequest(.microsoft, .identity, .get, Self.me, headers: [.authorization: "Bearer " + token]))
        switch GraphVerdict.classify(reply, accepting: []) {
        case .answer: return try AccountJSON.decode(MicrosoftUser.self, reply)
        // The token is valid, but not for this route.
        case .failure(.rejected) where reply.status == 403 && GraphVerdict.codes(reply) != nil: throw .scopeMissing
        case let verdict: throw verdict.accountError ?? .rejected
        }
    }

    /// Exchanges a code that was requested with a redirect URI, either the caller's or the configured one; without a
    /// redirect URI, codes are ignored.
    public func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        guard let tokens = try tokens(for: code, scope: Self.scope, through: client) else { return nil }
        let userID: String
        do { userID = try me(tokens.accessToken, through: client).id } catch { throw error.afterUseOfCode }
        guard Self.normalized(userID) == Self.normalized(profile.providerUserID) else { throw .codeRejected }
        return StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }

    /// The code must have been requested with the scope `openid`, so that the exchange also returns an ID token.
    public func signIn(
        with code: PresentedCode, through client: AccountClient
    ) throws(AccountError) -> CodeSignIn? {
        guard let tokens = try tokens(for: code, scope: "openid profile " + Self.scope, through: client) else {
            return nil
        }
        guard let idToken = tokens.idToken else { throw .scopeMissing }
        let presented = PresentedCredentials(
            accountType: accountType, accessToken: idToken, microsoftAccessToken: tokens.accessToken)
        return CodeSignIn(presented: presented, tokens: tokens)
    }

    private func tokens(
        for code: PresentedCode, scope: String, through client: AccountClient
    ) throws(AccountError) -> OAuthTokens? {
        guard let redirectURI = code.redirectURI ?? redirectURI else { return nil }
        let code = PresentedCode(code.value, redirectURI: redirectURI, verifier: code.verifier)
        let tokens = try tokenEndpoint.exchange(code, standardRedirectURI: nil, [("scope", scope)], through: client)
        try Self.requireStorage(tokens)
        return tokens
    }

    private static func requireStorage(_ tokens: OAuthTokens) throws(AccountError) {
        if let scope = tokens.scope, !scope.lowercased().contains("files.readwrite") { throw .scopeMissing }
    }

    /// The presented token may be exchanged any number of times until it expires.
    public var exchangesTokens: Bool { true }

    public func exchange(
        _ presented: PresentedCredentials, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        if !allowsIDTokens { try requireAccessToken(presented.accessToken, through: client) }
        let tokens = try tokenEndpoint.exchange(
            grant: "urn:ietf:params:oauth:grant-type:jwt-bearer",
            [
                ("assertion", presented.accessToken), ("scope", Self.scope), ("requested_token_use", "on_behalf_of"),
            ], through: client)
        try Self.requireStorage(tokens)
        return StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }

    /// Requests the app's folder, which every OneDrive has; people in organizations may have no OneDrive.
    public func requireStorage(
        with credentials: StoredCredentials, through client: AccountClient
    ) throws(AccountError) {
        guard let token = credentials.accessToken else { return }
        let request = OutgoingRequest(
            .microsoft, .metadata, .get, OutgoingRequest.url(AppFolder.address, [("$select", "id")]),
            headers: [.authorization: "Bearer " + token])
        // If Graph cannot be asked, nobody is rejected.
        guard let reply = try? client.send(request), let missing = MissingDrive(reply) else { return }
        throw .storageMissing(detail: missing.rawValue)
    }

    /// Only access tokens have scopes ("Access token claims reference").
    private func requireAccessToken(_ token: String, through client: AccountClient) throws(AccountError) {
        let payload = try keys.verifiedPayload(of: token, through: client)
        guard try policy.claims(in: payload, at: now()).scp != nil else { throw .rejected }
    }

    /// Stores none of the phone's tokens, since the server has its own.
    public func credentials(from presented: PresentedCredentials) -> StoredCredentials { StoredCredentials() }

    /// Uses an invented code in the format of personal accounts. For such a code, Microsoft is known to reject a wrong
    /// secret (`AADSTS7000215`). For a refresh token, it may check the format first (`AADSTS9002313`, also
    /// `invalid_grant`), which would reveal nothing about the secret.
    public func checkRegistration(through client: AccountClient) throws(AccountError) {
        let code = "M00000000-0000-0000-0000-000000000000"
        let details = [("redirect_uri", redirectURI ?? "http://localhost"), ("scope", Self.scope)]
        do throws(AccountError) {
            _ = try tokenEndpoint.exchange(code: code, details, through: client)
        } catch .rejected {
            return
        }
    }

    /// Each renewal returns a new refresh token, which must be stored together with the access token.
    public func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        try tokenEndpoint.renew(stored, [("scope", Self.scope)], through: client)
    }
}

// Members are named as on the wire, but in camel case.

/// Reply of Graph's `/me`.
struct MicrosoftUser: Decodable {
    /// For personal accounts, 16 hexadecimal digits, or fewer if the first ones are zeros; for others, a UUID.
    var id: String
    var displayName: String?
}

/// The token endpoint's error body (Microsoft identity platform, "Authentication and authorization error codes").
struct MicrosoftErrorBody: Decodable {
    var error: String
    /// The numbers after `AADSTS`.
    var errorCodes: [Int]?
}

/// The meaning of a rejection by the token endpoint (Microsoft identity platform, "AADSTS error codes").
enum MicrosoftRefusal {
    /// Only the person can fix it, by signing in or consenting again.
    case personNeeded
    /// The permission was never granted, or was revoked.
    case consentMissing
    /// The ID token to exchange is not accepted.
    case assertionRefused
    /// The code has been used, or was requested with a different redirect URI or challenge.
    case codeRefused
    case other(AccountError)

    /// Expired or revoked refresh tokens, changed passwords, second factors.
    private static let personNeededCodes: Set = [70000, 70008, 700_082, 700_084, 50173, 50076, 50079]
    /// Not a JWT, wrong signature, wrong audience, expired, or an ID token.
    private static let assertionCodes: Set = [50027, 50013, 500_131, 500_133, 240_002]
    /// Already redeemed; a redirect URI that differs from the requested or registered one; a different verifier.
    private static let codeCodes: Set = [54005, 500_112, 50011, 501_481, 50148]
    /// Transient failures of the service, and repetitions of a request within a short time; neither concerns the grant.
    private static let passingCodes: Set = [90033, 50196]
    /// Client ID or secret unknown or expired: no user can fix that.
    private static let clientCodes: Set = [7_000_215, 7_000_222, 700_016]

    init(_ reply: Reply) {
        guard let body = try? AccountJSON.decode(MicrosoftErrorBody.self, reply) else {
            self = .other(.unavailable(detail: "unreadable reply with status \(reply.status)"))
            return
        }
        let codes = Set(body.errorCodes ?? [])
        let word = codes.sorted().reduce(body.error) { "\($0) AADSTS\($1)" }
        switch body.error {
        case _ where !codes.isDisjoint(with: Self.passingCodes), "temporarily_unavailable":
            self = .other(.unavailable(detail: word))
        case _ where !codes.isDisjoint(with: Self.codeCodes):
            self = .codeRefused
        case _ where !codes.isDisjoint(with: Self.clientCodes), "invalid_client", "unauthorized_client":
            self = .other(.misconfigured(detail: "Microsoft's token endpoint replied \(word)"))
        case _ where codes.contains(65001), "consent_required":
            self = .consentMissing
        case _ where !codes.isDisjoint(with: Self.assertionCodes):
            self = .assertionRefused
        case _ where !codes.isDisjoint(with: Self.personNeededCodes), "invalid_grant", "interaction_required":
            self = .personNeeded
        default:
            self = .other(.misconfigured(detail: "Microsoft's token endpoint replied \(word)"))
        }
    }

    /// For an exchange: whether the person must sign in or consent.
    var ofExchange: AccountError {
        switch self {
        case .personNeeded, .assertionRefused, .codeRefused: .rejected
        case .consentMissing: .scopeMissing
        case .other(let error): error
        }
    }

    /// For the exchange of a code: whether a different code would work.
    var ofCode: AccountError {
        switch self {
        case .personNeeded, .assertionRefused, .codeRefused: .codeRejected
        case .consentMissing: .scopeMissing
        case .other(let error): error
        }
    }

    /// For a renewal: whether it will ever work again.
    var ofRenewal: AccountError {
        switch self {
        case .personNeeded, .consentMissing, .assertionRefused, .codeRefused: .revoked
        case .other(let error): error
        }
    }
}
