public import FoundationEssentials
import HTTPTransport
public import JSONWebTokens
import OpenSSLCrypto
public import SyncProtocol
import UntrustedInput

/// Sign in with Apple identifies a person and includes no storage ("Sign in with Apple REST API").
///
/// The phone presents the identity token that it received from Apple. Such a token is valid for minutes only, so a
/// token that the server saw while it was valid remains accepted for its user; instead, the server asks Apple once a
/// day whether the person still consents.
public struct AppleAccount: AccountProvider {
    /// The app maker's registration at Apple.
    public struct Registration: Sendable {
        /// The app's bundle identifier, the audience of identity tokens.
        public var clientID: String
        /// Identifiers of the app on other platforms and of the team's other apps; Apple identifies a person to all of
        /// them by the same value.
        public var otherClientIDs: [String]
        public var teamID: String
        public var keyID: String
        public var key: SigningKey
        /// Sent with codes for ``clientID`` whose caller names no redirect URI. An app that named one when it requested
        /// the code needs it; apps on devices do not.
        public var redirectURI: String?

        public init(
            clientID: String, otherClientIDs: [String] = [], teamID: String, keyID: String, key: SigningKey,
            redirectURI: String?
        ) {
            self.clientID = clientID
            self.otherClientIDs = otherClientIDs
            self.teamID = teamID
            self.keyID = keyID
            self.key = key
            self.redirectURI = redirectURI
        }

        var clientIDs: [String] { [clientID] + otherClientIDs }
    }

    private static let issuer = "https://appleid.apple.com"
    private static let tokenURL = "https://appleid.apple.com/auth/token"
    private static let revocationURL = "https://appleid.apple.com/auth/revoke"
    private static let keysURL = "https://appleid.apple.com/auth/keys"
    /// Apple allows one check of a refresh token a day ("Verifying a user").
    private static let confirmationIntervalSeconds: Int64 = 86_400
    /// Apple allows half a year; this is shorter to limit the damage if a secret leaks.
    private static let clientSecretLifeSeconds: Int64 = 3_600

    private let registration: Registration
    private let policy: IDTokenPolicy
    private let keys: PublishedKeys
    private let now: @Sendable () -> Date

    /// - Parameter now: the clock, for tests to control.
    public init(_ registration: Registration, now: @escaping @Sendable () -> Date = { Date() }) {
        self.registration = registration
        self.now = now
        policy = IDTokenPolicy(issuer: .oneOf([Self.issuer]), audiences: Set(registration.clientIDs))
        keys = PublishedKeys(of: .apple, at: Self.keysURL, algorithms: [.rs256, .es256])
    }

    public var accountType: AccountType { .appleSignIn }
    public var acceptsPasswords: Bool { false }

    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let now = now()
        let claims = try claims(of: presented.accessToken, at: now, through: client)
        let isExpired = policy.isExpired(claims, at: now)
        return SignInProfile(
            providerUserID: claims.sub, displayName: AppleAccountDetails(presented.accountDetails).displayName,
            tokenLifetime: isExpired ? nil : claims.lifetime(at: now),
            identityToken: IdentityToken(
                hash: Self.hash(presented.accessToken), isExpired: isExpired,
                issuedAt: Int64(saturating: claims.iat ?? claims.exp), clientID: clientID(of: claims)))
    }

    /// The returned identity token must belong to the caller; a code of a different person is rejected.
    public func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        var details: [(name: String, value: String)] = []
        let clientID = profile.identityToken?.clientID ?? registration.clientID
        let standardURI = clientID == registration.clientID ? registration.redirectURI : nil
        if let redirectURI = code.redirectURI ?? standardURI { details.append(("redirect_uri", redirectURI)) }
        let tokens = try tokenEndpoint(clientID).exchange(code: code.value, details, through: client)
        let now = now()
        guard let refreshToken = tokens.refreshToken, let idToken = tokens.idToken else {
            throw .unavailable(detail: "Apple's token endpoint omitted a token")
        }
        let claims = try claims(of: idToken, at: now, through: client)
        guard claims.sub == profile.providerUserID, !policy.isExpired(claims, at: now) else { throw .codeRejected }
        return StoredCredentials(
            refreshToken: refreshToken,
            identity: IdentityRecord(confirmedAt: Int64(now.timeIntervalSince1970), clientID: clientID))
    }

    /// Stores only the token's hash; the server does not need the token itself.
    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        StoredCredentials(identity: IdentityRecord(tokenHashes: [Self.hash(presented.accessToken)]))
    }

    public func isConfirmationDue(_ stored: StoredCredentials) -> Bool {
        guard stored.refreshToken != nil else { return false }
        guard let last = stored.identity?.confirmedAt else { return true }
        return Int64(now().timeIntervalSince1970) - last >= Self.confirmationIntervalSeconds
    }

    public func confirm(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        guard let refreshToken = stored.refreshToken else { return stored }
        let tokens = try tokenEndpoint(clientID(of: stored)).refresh(refreshToken, through: client)
        return stored.updated(
            with: StoredCredentials(
                refreshToken: tokens.refreshToken,
                identity: IdentityRecord(confirmedAt: Int64(now().timeIntervalSince1970))))
    }

    /// Rejects all tokens issued so far; a new sign-in is accepted.
    public func withdrawn(_ stored: StoredCredentials) -> StoredCredentials {
        var empty = stored.withoutTokens
        empty.identity = IdentityRecord(withdrawnAt: Int64(now().timeIntervalSince1970))
        return empty
    }

    // MARK: Tokens

    private func clientID(of stored: StoredCredentials) -> String {
        stored.identity?.clientID ?? registration.clientID
    }

    private func clientID(of claims: IDTokenClaims) -> String {
        registration.clientIDs.first(where: claims.audience.contains) ?? registration.clientID
    }

    /// The claims of a token that Apple issued for one of our apps; does not check expiry.
    private func claims(
        of token: String, at now: Date, through client: AccountClient
    ) throws(AccountError) -> IDTokenClaims {
        try policy.claims(in: try keys.verifiedPayload(of: token, through: client), at: now)
    }

    /// The content of a notice from Apple after its signature, issuer and audience have been checked.
    public func notice(in token: String, through client: AccountClient) throws(AccountError) -> AppleNotice {
        let payload = try keys.verifiedPayload(of: token, through: client)
        return try AppleNotice(
            payload: payload, issuer: Self.issuer, audiences: Set(registration.clientIDs), at: now())
    }

    /// Apple requires this when an account is deleted ("Revoke tokens"); it replies with 200 even if there was nothing
    /// to revoke.
    public func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) {
        guard let refreshToken = stored.refreshToken else { return }
        let clientID = self.clientID(of: stored)
        let reply = try client.send(
            .form(
                .apple, .revoke, Self.revocationURL,
                [
                    ("client_id", clientID), ("client_secret", try clientSecret(of: clientID)),
                    ("token", refreshToken), ("token_type_hint", "refresh_token"),
                ]))
        guard reply.status != 200 else { return }
        let word = (try? AccountJSON.decode(OAuthErrorBody.self, reply))?.error ?? "status \(reply.status)"
        throw .misconfigured(detail: "Apple's revocation endpoint replied \(word)")
    }

    public func checkRegistration(through client: AccountClient) throws(AccountError) {
        for clientID in registration.clientIDs { try tokenEndpoint(clientID).checkClient(through: client) }
    }

    private func tokenEndpoint(_ clientID: String) throws(AccountError) -> TokenEndpoint {
        TokenEndpoint(
            of: .apple, named: "Apple", at: Self.tokenURL, clientID: clientID,
            clientSecret: try clientSecret(of: clientID))
    }

    /// A token that proves to Apple that we are the app's server ("Creating a client secret").
    func clientSecret(of clientID: String) throws(AccountError) -> String {
        let issuedAt = Int64(now().timeIntervalSince1970) - JSONWebToken.clockAllowanceSeconds
        let claims = AppleClientSecret(
            iss: registration.teamID, iat: issuedAt, exp: issuedAt + Self.clientSecretLifeSeconds, aud: Self.issuer,
            sub: clientID)
        do {
            return try JSONWebToken.signed(claims, keyID: registration.keyID, with: registration.key)
        } catch {
            throw .misconfigured(detail: "appleSignIn.privateKey cannot sign")
        }
    }

    private static func hash(_ text: String) -> String {
        IncrementalDigest.digest(of: Array(text.utf8), .sha256).hexLowercase
    }
}

/// Claims of the client secret, named as on the wire.
struct AppleClientSecret: Encodable, Sendable {
    var iss: String
    var iat: Int64
    var exp: Int64
    var aud: String
    var sub: String
}

/// The person's name as passed on by the phone in the header `X-account-details`; Apple provides it only once.
struct AppleAccountDetails: Decodable {
    private static let maximumBytes = 8_192

    var firstName: String?
    var lastName: String?
    var fullName: String?

    /// Reads what it can; an unreadable header is ignored, since it only adds a name.
    init(_ header: String?) {
        guard let header, header.utf8.count <= Self.maximumBytes,
            let details = try? UntrustedJSON.decode(Self.self, from: header.utf8)
        else { return }
        self = details
    }

    /// The full name, or the first and last name; may be empty.
    var displayName: String {
        if let fullName, !fullName.isEmpty { return fullName }
        return [firstName, lastName].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
    }
}

/// Apple's report to the server about a person ("Processing changes for Sign in with Apple accounts").
public struct AppleNotice: Equatable, Sendable {
    /// The reported event.
    public enum Event: Equatable, Sendable {
        /// The person no longer uses Sign in with Apple for the app, or no longer has an Apple account.
        case leaves(providerUserID: String)
        /// An event that changes nothing for us, such as one about mail forwarding; `type` is Apple's word.
        case other(type: String)
    }

    /// How long after its creation a notice is accepted, in seconds. Apple sends each notice once, soon after the
    /// event.
    static let longestAgeSeconds = 30.0 * 86_400
    private static let futureLeewaySeconds = 120.0
    private static let leavingTypes: Set = ["consent-revoked", "account-delete", "account-deleted"]

    /// Identifies the notice; repeated deliveries have the same identifier.
    public let identifier: String
    public let event: Event
    /// Whether the notice is too old to take effect.
    public let isStale: Bool

    /// Reads the payload of a token whose signature is Apple's.
    ///
    /// - Throws: ``AccountError/rejected`` if it is not a notice, or not for one of `audiences`. An identity token of a
    ///   person is not a notice, although Apple signs both the same way.
    init(payload: [UInt8], issuer: String, audiences: Set<String>, at now: Date) throws(AccountError) {
        guard let claims = try? UntrustedJSON.decode(Claims.self, from: payload), claims.iss == issuer,
            claims.audience.count == 1, audiences.isSuperset(of: claims.audience), !claims.jti.isEmpty,
            let details = claims.events
        else { throw .rejected }
        let now = now.timeIntervalSince1970
        guard claims.iat <= now + Self.futureLeewaySeconds else { throw .rejected }
        identifier = claims.jti
        isStale = claims.iat < now - Self.longestAgeSeconds || claims.exp.map { $0 < now } ?? false
        if Self.leavingTypes.contains(details.type), let sub = details.sub, !sub.isEmpty {
            event = .leaves(providerUserID: sub)
        } else {
            event = .other(type: String(details.type.prefix(40)))
        }
    }

    private struct Details: Decodable {
        let type: String
        let sub: String?
    }

    private struct Claims: Decodable {
        let iss: String
        let audience: [String]
        let iat: Double
        let exp: Double?
        let jti: String
        let events: Details?

        private enum Member: CodingKey { case iss, aud, iat, exp, jti, events }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            iss = try members.decode(String.self, forKey: .iss)
            if let single = try? members.decode(String.self, forKey: .aud) {
                audience = [single]
            } else {
                audience = try members.decode([String].self, forKey: .aud)
            }
            iat = try members.decode(Double.self, forKey: .iat)
            exp = try members.decodeIfPresent(Double.self, forKey: .exp)
            jti = try members.decode(String.self, forKey: .jti)
            // Apple sends the object as a string; its documentation shows an object.
            if let text = try? members.decode(String.self, forKey: .events) {
                events = try UntrustedJSON.decode(Details.self, from: text.utf8)
            } else {
                events = try members.decodeIfPresent(Details.self, forKey: .events)
            }
        }
    }
}
