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
