import HTTPTransport
import HTTPTypes
public import SyncProtocol
import UntrustedInput

/// Google accounts: access tokens obtained on the phone, codes exchanged by the server (Google Identity, "Using OAuth
/// 2.0 for Web Server Applications").
public struct GoogleAccount: AccountProvider {
    private static let userInfo = "https://www.googleapis.com/oauth2/v3/userinfo"
    private static let tokenInfo = "https://oauth2.googleapis.com/tokeninfo"
    private static let token = "https://oauth2.googleapis.com/token"
    private static let revocation = "https://oauth2.googleapis.com/revoke"
    private static let driveScopes: Set = [
        "https://www.googleapis.com/auth/drive.file", "https://www.googleapis.com/auth/drive",
    ]

    private let clientID: String
    private let tokenEndpoint: TokenEndpoint
    private let otherClientIDs: Set<String>

    /// - Parameters:
    ///   - clientID: the server's OAuth client.
    ///   - otherClientIDs: clients of our apps in projects other than the server's.
    public init(clientID: String, clientSecret: String, otherClientIDs: [String]) {
        self.clientID = clientID
        tokenEndpoint = TokenEndpoint(
            of: .google, named: "Google", at: Self.token, clientID: clientID, clientSecret: clientSecret)
        self.otherClientIDs = Set(otherClientIDs)
    }

    public var accountType: AccountType { .google }
    public var acceptsPasswords: Bool { false }

    /// `userinfo` identifies the person but accepts tokens issued for any app; `tokeninfo` identifies the app.
    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let url = OutgoingRequest.url(Self.tokenInfo, [("access_token", presented.accessToken)])
        let (info, reply) = try client.send(
            OutgoingRequest(.google, .identity, .get, url), beside: Self.userInfoRequest(presented.accessToken)
        ) { reply throws(AccountError) in
            try Self.requireSuccess(reply)
            let info = try AccountJSON.decode(GoogleTokenInfo.self, reply)
            guard [info.aud, info.azp].compactMap(\.self).contains(where: isOurs) else { throw .rejected }
            return info
        }
        let user = try Self.userInfo(in: reply)
        if let sub = info.sub, sub != user.sub { throw .rejected }
        return SignInProfile(
            providerUserID: user.sub, displayName: user.name ?? "",
            tokenLifetime: info.expiresIn.flatMap { Double($0) }.map { .untrusted(seconds: $0) })
    }

    public func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        let tokens = try tokens(for: code, through: client)
        let user: GoogleUserInfo
        do {
            user = try Self.userInfo(in: try client.send(Self.userInfoRequest(tokens.accessToken)))
        } catch {
            throw error.afterUseOfCode
        }
        guard user.sub == profile.providerUserID else { throw .codeRejected }
        return StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }

    public func signIn(
        with code: PresentedCode, through client: AccountClient
    ) throws(AccountError) -> CodeSignIn? {
        let tokens = try tokens(for: code, through: client)
        return CodeSignIn(
            presented: PresentedCredentials(accountType: accountType, accessToken: tokens.accessToken), tokens: tokens)
    }

    private func tokens(
        for code: PresentedCode, through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        // An app on a device obtains its code without a redirect.
        let tokens = try tokenEndpoint.exchange(code, standardRedirectURI: "", through: client)
        if let scopes = tokens.scopes, Self.driveScopes.isDisjoint(with: scopes) { throw .scopeMissing }
        return tokens
    }

    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        StoredCredentials(accessToken: presented.accessToken)
    }

    public func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        try tokenEndpoint.renew(stored, through: client)
    }

    public func checkRegistration(through client: AccountClient) throws(AccountError) {
        try tokenEndpoint.checkClient(through: client)
    }

    /// Revokes everything that the person has granted to our project, so that their next consent yields a refresh token
    /// again: Google issues one only at the first consent ("Revoking a token").
    public func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) {
        guard let token = stored.refreshToken ?? stored.accessToken else { return }
        let reply = try client.send(.form(.google, .revoke, Self.revocation, [("token", token)]))
        if reply.status == 200 { return }
        let word = try AccountJSON.decode(OAuthErrorBody.self, reply).error
        // The grant has ended already.
        if reply.status == 400, word == "invalid_token" { return }
        throw .misconfigured(detail: "Google's revocation endpoint replied \(word)")
    }

    /// Whether the client is listed or belongs to the same project as the server's client: a client ID begins with the
    /// project's number.
    private func isOurs(_ audience: String) -> Bool {
        if audience == clientID || otherClientIDs.contains(audience) { return true }
        let project = clientID.prefix(while: { $0 != "-" })
        return !project.isEmpty && project.allSatisfy(\.isNumber) && audience.hasPrefix(project + "-")
    }

    private static func userInfoRequest(_ token: String) -> OutgoingRequest {
        OutgoingRequest(.google, .identity, .get, userInfo, headers: [.authorization: "Bearer " + token])
    }

    private static func userInfo(in reply: Reply) throws(AccountError) -> GoogleUserInfo {
        try requireSuccess(reply)
        return try AccountJSON.decode(GoogleUserInfo.self, reply)
    }

    private static func requireSuccess(_ reply: Reply) throws(AccountError) {
        if let error = DriveVerdict.classify(reply, accepting: []).accountError { throw error }
    }
}

// Members are named as on the wire, but in camel case.

/// Reply of `oauth2/v3/userinfo` (OpenID Connect Core, section 5.3).
struct GoogleUserInfo: Decodable {
    /// Identifies the person permanently; at most 255 characters.
    var sub: String
    /// Absent if the token lacks the scope `profile`.
    var name: String?
}

/// Reply of `tokeninfo`; all values are strings.
struct GoogleTokenInfo: Decodable {
    var aud: String?
    var azp: String?
    var sub: String?
    var expiresIn: String?
}
