import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
public import SyncProtocol

/// Dropbox accounts: access tokens made on the phone, codes exchanged by the server (Dropbox, "OAuth Guide").
///
/// What Dropbox offers cannot tell for which app an access token was made; only a code that we exchange ourselves proves
/// that. Deployed clients have nothing but a token.
public struct DropboxAccount: AccountProvider {
    private static let currentAccount = "https://api.dropboxapi.com/2/users/get_current_account"
    private static let token = "https://api.dropboxapi.com/oauth2/token"
    private static let storageScopes: Set = ["files.metadata.read", "files.content.read", "files.content.write"]

    private let appKey: String
    private let appSecret: String
    private let redirectURI: String?
    private let allowsBareTokens: Bool

    /// - Parameters:
    ///   - redirectURI: with which the phones ask for codes; `nil` if without one.
    ///   - allowsBareTokens: whether a token without a code is enough, as deployed clients need it.
    public init(appKey: String, appSecret: String, redirectURI: String? = nil, allowsBareTokens: Bool) {
        self.appKey = appKey
        self.appSecret = appSecret
        self.redirectURI = redirectURI
        self.allowsBareTokens = allowsBareTokens
    }

    public var accountType: AccountType { .dropbox }

    public var requiresCode: Bool { !allowsBareTokens }

    /// The account that the phone names must be the token's own: Dropbox tells anybody about any account.
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

    /// - Parameter code: the code; if it was asked for with a PKCE challenge, a blank and the verifier follow it.
    public func exchange(
        code: String, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        let words = code.split(separator: " ", maxSplits: 1).map(String.init)
        var form = [
            (name: "grant_type", value: "authorization_code"), (name: "code", value: words.first ?? ""),
            (name: "client_id", value: appKey), (name: "client_secret", value: appSecret),
        ]
        if words.count == 2 { form.append((name: "code_verifier", value: words[1])) }
        if let redirectURI { form.append((name: "redirect_uri", value: redirectURI)) }
        let reply = try client.send(.form(Self.token, form), isRepeatable: false)
        guard reply.status == 200 else {
            throw try Self.isInvalidGrant(reply) ? .codeRejected : Self.refusal(reply)
        }
        let tokens = try AccountJSON.decode(DropboxTokens.self, reply)
        if let scope = tokens.scope,
            !Self.storageScopes.isSubset(of: scope.split(separator: " ").map(String.init))
        {
            throw .scopeMissing
        }
        guard tokens.accountId == profile.providerUserID else { throw .codeRejected }
        return StoredCredentials(
            accessToken: tokens.accessToken, refreshToken: tokens.refreshToken,
            codeHash: IncrementalDigest.digest(of: Array(code.utf8), .sha256).hexLowercase)
    }

    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        StoredCredentials(accessToken: allowsBareTokens ? presented.accessToken : nil)
    }

    /// Without a refresh token, which bare tokens do not come with, only the person can help.
    public func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        guard let refreshToken = stored.refreshToken else { throw .revoked }
        let reply = try client.send(
            .form(
                Self.token,
                [
                    ("grant_type", "refresh_token"), ("refresh_token", refreshToken), ("client_id", appKey),
                    ("client_secret", appSecret),
                ]))
        guard reply.status == 200 else {
            throw try Self.isInvalidGrant(reply) ? .revoked : Self.refusal(reply)
        }
        // Dropbox keeps the refresh token; should it ever send a new one, that counts.
        let tokens = try AccountJSON.decode(DropboxTokens.self, reply)
        return stored.updated(
            with: StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken))
    }

    private func currentUser(_ token: String, through client: AccountClient) throws(AccountError) -> DropboxUser {
        let reply = try client.send(
            OutgoingRequest(
                .post, Self.currentAccount,
                headers: [.authorization: "Bearer " + token, .contentType: "application/json"],
                body: ArraySlice("null".utf8)))
        switch reply.status {
        case 200: return try AccountJSON.decode(DropboxUser.self, reply)
        // Malformed, expired, revoked, without the scope, or of somebody who is suspended.
        case 400, 401, 403: throw .rejected
        default: throw .unavailable(detail: "status \(reply.status)")
        }
    }

    private static func isInvalidGrant(_ reply: Reply) throws(AccountError) -> Bool {
        guard reply.status == 400 else { return false }
        return try AccountJSON.decode(OAuthErrorBody.self, reply).error == "invalid_grant"
    }

    private static func refusal(_ reply: Reply) -> AccountError {
        let word = (try? AccountJSON.decode(OAuthErrorBody.self, reply))?.error ?? "status \(reply.status)"
        return .misconfigured(detail: "Dropbox's token endpoint says \(word)")
    }
}
