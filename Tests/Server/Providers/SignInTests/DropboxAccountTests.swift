import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Dropbox accounts")
struct DropboxAccountTests {
    static let account = DropboxAccount(appKey: "key", appSecret: "s3cr3t+/=", allowsBareTokens: true)
    static let profile = SignInProfile(providerUserID: "dbid:alice", displayName: "Alice Example")
    static let user = Reply(
        200, #"{"account_id": "dbid:alice", "name": {"given_name": "Alice", "display_name": "Alice Example"}}"#)

    static func tokens(
        scope: String? = "account_info.read files.metadata.read files.content.read files.content.write",
        accountID: String? = "dbid:alice", refreshToken: String? = "refresh"
    ) -> Reply {
        var members = [#""access_token": "sl.server", "expires_in": 14400, "token_type": "bearer""#]
        if let scope { members.append("\"scope\": \"\(scope)\"") }
        if let accountID { members.append("\"account_id\": \"\(accountID)\"") }
        if let refreshToken { members.append("\"refresh_token\": \"\(refreshToken)\"") }
        return Reply(200, "{\(members.joined(separator: ", "))}")
    }

    static func presented(accountID: String? = "dbid:alice", code: String? = nil) -> PresentedCredentials {
        PresentedCredentials(
            accountType: .dropbox, accessToken: "sl.device", authorizationCode: code, accountID: accountID)
    }

    // MARK: Verification

    @Test("A token of the named account is accepted, and its name is returned [23]")
    func verified() throws {
        let script = AccountScript(["get_current_account": Self.user])

        let profile = try Self.account.verify(Self.presented(), through: script.client)

        #expect(profile == Self.profile)
        let request = script.transport.requests[0]
        #expect(request.method == .post)
        #expect(request.url == "https://api.dropboxapi.com/2/users/get_current_account")
        #expect(request.headers[.authorization] == "Bearer sl.device")
        #expect(request.headers[.contentType] == "application/json" && request.bodyText == "null")
    }

    @Test("A's token with B's account id is rejected [45]")
    func otherAccount() {
        let script = AccountScript(["get_current_account": Self.user])

        #expect(throws: AccountError.rejected) {
            try Self.account.verify(Self.presented(accountID: "dbid:bob"), through: script.client)
        }
    }

    @Test("Without an account id no request is sent")
    func withoutAccountID() {
        let script = AccountScript(["get_current_account": Self.user])

        #expect(throws: AccountError.rejected) {
            try Self.account.verify(Self.presented(accountID: nil), through: script.client)
        }
        #expect(script.paths.isEmpty)
    }

    @Test(
        "A token that Dropbox rejects is not a sign-in, regardless of the reason [22]",
        arguments: [
            (401, #"{"error_summary": "expired_access_token/", "error": {".tag": "expired_access_token"}}"#),
            (401, #"{"error_summary": "invalid_access_token/..", "error": {".tag": "invalid_access_token"}}"#),
            (401, #"{"error": {".tag": "missing_scope", "required_scope": "account_info.read"}}"#),
            (401, #"{"error": {".tag": "user_suspended"}}"#), (400, "The given OAuth 2 access token is malformed."),
            (403, #"{"error": {".tag": "invalid_account_type"}}"#),
        ])
    func refused(status: Int, body: String) {
        #expect(throws: AccountError.rejected) {
            try Self.account.verify(
                Self.presented(), through: AccountScript(["get_current_account": Reply(status, body)]).client)
        }
    }

    @Test("Failures and invalid replies of Dropbox reject no user", arguments: [(503, ""), (200, "<html>")])
    func down(status: Int, body: String) {
        let script = AccountScript(["get_current_account": Reply(status, body)])

        #expect {
            try Self.account.verify(Self.presented(), through: script.client)
        } throws: { error in
            switch error as? AccountError {
            case .unavailable: status == 200
            case .notAsked: status == 503
            default: false
            }
        }
    }

    @Test("A bare token is accepted only where it is allowed")
    func bareTokens() throws {
        let strict = DropboxAccount(appKey: "key", appSecret: "secret", allowsBareTokens: false)
        let script = AccountScript(["get_current_account": Self.user])

        #expect(throws: AccountError.rejected) { try strict.verify(Self.presented(), through: script.client) }
        #expect(try strict.verify(Self.presented(code: "code"), through: script.client) == Self.profile)
        #expect(strict.requiresCode && !Self.account.requiresCode)
        #expect(strict.credentials(from: Self.presented()) == StoredCredentials())
        #expect(Self.account.credentials(from: Self.presented()) == StoredCredentials(accessToken: "sl.device"))
    }

    // MARK: Codes

    @Test("A code is exchanged for tokens, with the code's hash; every value is percent-encoded")
    func exchanged() throws {
        let script = AccountScript(["token": Self.tokens()])

        let kept = try Self.account.exchange(code: "code+=&", of: Self.profile, through: script.client)

        #expect(kept?.accessToken == "sl.server" && kept?.refreshToken == "refresh")
        let request = script.transport.requests[0]
        #expect(request.method == .post && request.url == "https://api.dropboxapi.com/oauth2/token")
        #expect(request.headers[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.headers[.authorization] == nil && !request.isRepeatable)
        #expect(
            request.bodyText
                == "grant_type=authorization_code&code=code%2B%3D%26&client_id=key&client_secret=s3cr3t%2B%2F%3D")
    }

    @Test("A verifier after the code, and the operator's redirect URI, are sent with it")
    func proofKey() throws {
        let account = DropboxAccount(
            appKey: "key", appSecret: "secret", redirectURI: "db-key://2/token", allowsBareTokens: true)
        let script = AccountScript(["token": Self.tokens()])

        _ = try account.exchange(code: "code verifier-~", of: Self.profile, through: script.client)

        #expect(
            script.transport.requests[0].bodyText
                == "grant_type=authorization_code&code=code&client_id=key&client_secret=secret"
                + "&code_verifier=verifier-~&redirect_uri=db-key%3A%2F%2F2%2Ftoken")
    }

    @Test(
        "Another account's code is rejected, and so is one whose account is not returned", arguments: ["dbid:bob", nil])
    func foreignCode(accountID: String?) {
        let script = AccountScript(["token": Self.tokens(accountID: accountID)])

        #expect(throws: AccountError.codeRejected) {
            _ = try Self.account.exchange(code: "code", of: Self.profile, through: script.client)
        }
    }

    @Test("Without permission to store files no tokens are issued", arguments: ["account_info.read", ""])
    func scopeMissing(scope: String) {
        let script = AccountScript(["token": Self.tokens(scope: scope)])

        #expect(throws: AccountError.scopeMissing) {
            _ = try Self.account.exchange(code: "code", of: Self.profile, through: script.client)
        }
    }

    @Test("A used code is the user's error, and a wrong secret the operator's")
    func refusedExchange() {
        let used = AccountScript(["token": Reply(400, #"{"error": "invalid_grant", "error_description": "used"}"#)])
        #expect(throws: AccountError.codeRejected) {
            _ = try Self.account.exchange(code: "code", of: Self.profile, through: used.client)
        }
        let wrong = AccountScript(["token": Reply(400, #"{"error": "invalid_client"}"#)])
        #expect(throws: AccountError.misconfigured(detail: "Dropbox's token endpoint replied invalid_client")) {
            _ = try Self.account.exchange(code: "code", of: Self.profile, through: wrong.client)
        }
    }

    // MARK: Renewal

    @Test("A refresh returns a new access token and keeps the refresh token")
    func refreshed() throws {
        let script = AccountScript(["token": Self.tokens(scope: nil, accountID: nil, refreshToken: nil)])
        let stored = StoredCredentials(accessToken: "sl.old", refreshToken: "refresh", codeHash: "hash")

        let fresh = try Self.account.refresh(stored, through: script.client)

        #expect(fresh == StoredCredentials(accessToken: "sl.server"))
        #expect(
            script.transport.requests[0].bodyText
                == "grant_type=refresh_token&refresh_token=refresh&client_id=key&client_secret=s3cr3t%2B%2F%3D")
    }

    @Test("A rotated refresh token is stored")
    func rotated() throws {
        let script = AccountScript(["token": Self.tokens(refreshToken: "rotated")])

        let fresh = try Self.account.refresh(StoredCredentials(refreshToken: "refresh"), through: script.client)

        #expect(fresh.refreshToken == "rotated")
    }

    @Test("Only an explicit rejection by Dropbox, or a missing refresh token, is a revoked grant")
    func revoked() {
        let gone = AccountScript(["token": Reply(400, #"{"error": "invalid_grant"}"#)])
        let stored = StoredCredentials(accessToken: "sl.old", refreshToken: "refresh")
        #expect(throws: AccountError.revoked) { try Self.account.refresh(stored, through: gone.client) }
        #expect(throws: AccountError.revoked) {
            try Self.account.refresh(StoredCredentials(accessToken: "sl.device"), through: gone.client)
        }
        let wrong = AccountScript(["token": Reply(401, #"{"error": "invalid_client"}"#)])
        #expect(throws: AccountError.misconfigured(detail: "Dropbox's token endpoint replied invalid_client")) {
            try Self.account.refresh(stored, through: wrong.client)
        }
        let down = AccountScript(["token": Reply(503)])
        #expect(throws: AccountError.notAsked(retryAfter: Pauses.usual, detail: "status 503")) {
            try Self.account.refresh(stored, through: down.client)
        }
        #expect(throws: AccountError.timedOut) {
            try Self.account.refresh(stored, through: AccountScript(failing: .timedOut).client)
        }
    }
}
