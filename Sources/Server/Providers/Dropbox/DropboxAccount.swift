import HTTPTransport
import HTTPTypes
public import SyncProtocol

/// Dropbox accounts: access tokens obtained on the phone, codes exchanged by the server (Dropbox, "OAuth Guide").
///
/// No Dropbox call reports for which app an access token was issued; only a code that we exchange ourselves proves
/// that. Deployed clients have only a token.
public struct DropboxAccount: AccountProvider {
    private static let currentAccount = "https://api.dropboxapi.com/2/users/get_current_account"
    private static let token = "https://api.dropboxapi.com/oauth2/token"
    private static let revocation = "https://api.dropboxapi.com/2/auth/token/revoke"
    private static let storageScopes: Set = ["files.metadata.read", "files.content.read", "files.content.write"]

    private let tokenEndpoint: TokenEndpoint
    private let redirectURI: String?
    private let allowsBareTokens: Bool

    /// - Parameters:
    ///   - redirectURI: for callers that request codes without naming one; `nil` if they use none.
    ///   - allowsBareTokens: whether a token without a code suffices, as deployed clients require.
    public init(appKey: String, appSecret: String, redirectURI: String? = nil, allowsBareTokens: Bool) {
        tokenEndpoint = TokenEndpoint(
            of: .dropbox, named: "Dropbox", at: Self.token, clientID: appKey, clientSecret: appSecret)
        self.redirectURI = redirectURI
        self.allowsBareTokens = allowsBareTokens
    }

    public var accountType: AccountType { .dropbox }
    public var acceptsPasswords: Bool { false }

    public var requiresCode: Bool { !allowsBareTokens }

    /// The account that the phone names must be the token's own, because Dropbox describes any account to any caller.
    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        guard let accountID = presented.accountID, allowsBareTokens || presented.authorizationCode != nil else {
            throw .rejected
        }
        let user = try currentUser(presented.accessToken, through: client)
        guard user.accountId == accountID else { throw .rejected }
        return SignInProfile(providerUserID: user.accountId, displayName: user.name?.displayName ?? "")
    }

    /// - Parameter code: the code; a caller may send the verifier after the code and a space instead of naming it.
    public func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        let tokens = try tokens(for: code, through: client)
        guard tokens.accountId == profile.providerUserID else { throw .codeRejected }
        return StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }

    public func signIn(
        with code: PresentedCode, through client: AccountClient
    ) throws(AccountError) -> CodeSignIn? {
        let tokens = try tokens(for: code, through: client)
        let presented = PresentedCredentials(
            accountType: accountType, accessToken: tokens.accessToken, authorizationCode: code.value,
            accountID: tokens.accountId)
        return CodeSignIn(presented: presented, tokens: tokens)
    }

    /// - Parameter code: see ``exchange(code:of:through:)``.
    private func tokens(
        for code: PresentedCode, through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        let words = code.value.split(separator: " ", maxSplits: 1).map(String.init)
        var plain = code
        plain.value = words.first ?? ""
        var details: [(name: String, value: String)] = []
        if words.count == 2, code.verifier == nil { details.append((name: "code_verifier", value: words[1])) }
        let tokens = try tokenEndpoint.exchange(plain, standardRedirectURI: redirectURI, details, through: client)
        if let scopes = tokens.scopes, !Self.storageScopes.isSubset(of: scopes) { throw .scopeMissing }
        return tokens
    }

    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        StoredCredentials(accessToken: allowsBareTokens ? presented.accessToken : nil)
    }

    public func checkRegistration(through client: AccountClient) throws(AccountError) {
        try tokenEndpoint.checkClient(through: client)
    }

    /// Without a refresh token, which bare tokens lack, the person must sign in again.
    public func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        try tokenEndpoint.renew(stored, through: client)
    }

    /// Revokes the refresh token and all access tokens obtained with it (`auth/token/revoke`). Leaves a bare token
    /// alone: it belongs to the phone and perhaps also to a different app.
    ///
    /// Dropbox revokes the grant of the request's access token. The stored token may have expired, or may come from a
    /// later code without a refresh token. A new token is obtained, because it certainly belongs to the refresh token.
    public func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) {
        guard stored.refreshToken != nil else { return }
        let fresh: StoredCredentials
        do {
            fresh = try refresh(stored, through: client)
        } catch {
            guard error == .revoked else { throw error }
            return  // There is nothing left to end.
        }
        guard let token = fresh.accessToken else { return }
        let reply = try call(.revoke, Self.revocation, token, through: client)
        // 401: the grant has ended in the meantime.
        guard [200, 401].contains(reply.status) else {
            throw .misconfigured(detail: "Dropbox's revocation replied with status \(reply.status)")
        }
    }

    private func currentUser(_ token: String, through client: AccountClient) throws(AccountError) -> DropboxUser {
        let reply = try call(.identity, Self.currentAccount, token, through: client)
        switch DropboxVerdict.classify(reply) {
        case .answer: return try AccountJSON.decode(DropboxUser.self, reply)
        // Dropbox's verdict about the account: missing scope, suspended, or wrong type.
        case .failure(.rejected) where [401, 403].contains(reply.status) && DropboxErrorBody(reply.body) != nil:
            throw .rejected
        case let verdict: throw verdict.accountError ?? .rejected
        }
    }

    /// A call without an argument.
    private func call(
        _ operation: ProviderCall.Operation, _ url: String, _ token: String, through client: AccountClient
    ) throws(AccountError) -> Reply {
        try client.send(
            OutgoingRequest(
                .dropbox, operation, .post, url,
                headers: [.authorization: "Bearer " + token, .contentType: "application/json"],
                body: .bytes(ArraySlice("null".utf8))))
    }
}

// Members are named as on the wire, but in camel case.

/// Reply of `users/get_current_account`.
struct DropboxUser: Decodable {
    struct Name: Decodable {
        var displayName: String?
    }
    /// `dbid:…`; identifies the person permanently.
    var accountId: String
    var name: Name?
}
