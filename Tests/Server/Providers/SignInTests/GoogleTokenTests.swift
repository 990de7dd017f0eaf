import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Google: codes and tokens")
struct GoogleTokenTests {
    static let account = GoogleVerificationTests.account
    static let profile = SignInProfile(providerUserID: "1098", displayName: "Alice Example")

    static func tokens(
        scope: String? = "openid https://www.googleapis.com/auth/drive.file", refreshToken: String? = "1//refresh"
    ) -> Reply {
        var members = [#""access_token": "ya29.server", "expires_in": 3599, "token_type": "Bearer""#]
        if let scope { members.append("\"scope\": \"\(scope)\"") }
        if let refreshToken { members.append("\"refresh_token\": \"\(refreshToken)\"") }
        return Reply(200, "{\(members.joined(separator: ", "))}")
    }

    private func exchange(_ tokens: Reply, user: Reply = GoogleVerificationTests.user) throws -> StoredCredentials? {
        let script = AccountScript(["token": tokens, "userinfo": user])
        return try Self.account.exchange(code: "4/code+=&", of: Self.profile, through: script.client)
    }

    @Test("A code is exchanged for tokens, with the code's hash")
    func exchanged() throws {
        let script = AccountScript(["token": Self.tokens(), "userinfo": GoogleVerificationTests.user])

        let kept = try Self.account.exchange(code: "4/code+=&", of: Self.profile, through: script.client)

        #expect(kept?.accessToken == "ya29.server")
        #expect(kept?.refreshToken == "1//refresh")
        let request = script.transport.requests[0]
        #expect(request.method == .post && request.url == "https://oauth2.googleapis.com/token")
        #expect(request.headers[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.headers[.authorization] == nil)
        #expect(
            request.bodyText
                == "grant_type=authorization_code&code=4%2Fcode%2B%3D%26"
                + "&client_id=1234567890-server.apps.googleusercontent.com&client_secret=s3cr3t&redirect_uri=")
        #expect(script.transport.requests[1].headers[.authorization] == "Bearer ya29.server")
        #expect(script.transport.calls == [ProviderCall(.google, .token), ProviderCall(.google, .identity)])
    }

    @Test("A second consent returns no refresh token, and the stored one is kept")
    func withoutRefreshToken() throws {
        let kept = try #require(try exchange(Self.tokens(refreshToken: nil)))

        #expect(kept.refreshToken == nil)
        #expect(StoredCredentials(refreshToken: "1//old").updated(with: kept).refreshToken == "1//old")
    }

    @Test(
        "Without permission to store files no tokens are issued",
        arguments: [
            "openid", "", "https://www.googleapis.com/auth/drive.readonly", "xhttps://www.googleapis.com/auth/drive",
        ])
    func scopeMissing(scope: String) {
        #expect(throws: AccountError.scopeMissing) { try exchange(Self.tokens(scope: scope)) }
    }

    @Test("The scope of the whole drive is sufficient, and so is a missing scope member")
    func scopes() throws {
        #expect(try exchange(Self.tokens(scope: "https://www.googleapis.com/auth/drive openid")) != nil)
        #expect(try exchange(Self.tokens(scope: nil)) != nil)
    }

    @Test("Another account's code is rejected")
    func foreignAccount() {
        #expect(throws: AccountError.codeRejected) {
            try exchange(Self.tokens(), user: Reply(200, #"{"sub": "2000", "name": "Mallory"}"#))
        }
    }

    @Test("An error after the exchange does not allow the code to be sent again", arguments: [true, false])
    func failureAfterUse(isRefused: Bool) {
        let script = ScriptedTransport { request throws(TransportError) in
            guard request.url.contains("userinfo") else { return Self.tokens() }
            throw isRefused ? .refused("certificate has expired") : .withheld(.circuitOpen(retryAfter: .seconds(5)))
        }
        let client = AccountClient(
            transport: script.transport, deadline: .after(.seconds(9)), backoff: PauseRecord().backoff())

        do {
            _ = try Self.account.exchange(code: "4/code", of: Self.profile, through: client)
            Issue.record("succeeds")
        } catch {
            if case AccountError.unavailable = error { return }
            Issue.record("\(error)")
        }
    }

    @Test("A used or expired code is rejected")
    func usedCode() {
        #expect(throws: AccountError.codeRejected) {
            try exchange(Reply(400, #"{"error": "invalid_grant", "error_description": "Bad Request"}"#))
        }
    }

    @Test("A code with an unknown outcome is not sent again")
    func lostExchange() {
        let script = AccountScript(failing: .interrupted)

        #expect(throws: AccountError.unavailable(detail: "connection lost")) {
            try Self.account.exchange(code: "4/code", of: Self.profile, through: script.client)
        }
        #expect(script.paths.count == 1)
    }

    @Test(
        "The token endpoint's error decides who is to blame",
        arguments: [
            (400, "invalid_grant", AccountError.revoked),
            (400, "invalid_request", .misconfigured(detail: "Google's token endpoint replied invalid_request")),
            (401, "invalid_client", .misconfigured(detail: "Google's token endpoint replied invalid_client")),
            (401, "unauthorized_client", .misconfigured(detail: "Google's token endpoint replied unauthorized_client")),
            (403, "org_internal", .misconfigured(detail: "Google's token endpoint replied org_internal")),
            (429, "rate_limit", .notAsked(retryAfter: Pauses.usual, detail: "status 429")),
            (500, "internal", .notAsked(retryAfter: Pauses.usual, detail: "status 500")),
            (503, "backend", .notAsked(retryAfter: Pauses.usual, detail: "status 503")),
        ])
    func refreshErrors(status: Int, word: String, expected: AccountError) {
        let script = AccountScript(["token": Reply(status, "{\"error\": \"\(word)\"}")])

        #expect(throws: expected) {
            try Self.account.refresh(StoredCredentials(refreshToken: "1//refresh"), through: script.client)
        }
    }

    @Test("An unreadable rejection revokes nothing")
    func unreadableRefusal() {
        let script = AccountScript(["token": Reply(400, "<html>Bad Request</html>")])

        #expect(throws: AccountError.unavailable(detail: "unreadable reply with status 400")) {
            try Self.account.refresh(StoredCredentials(refreshToken: "1//refresh"), through: script.client)
        }
    }

    @Test("A refreshed access token leaves everything else unchanged [21]")
    func refreshed() throws {
        let stored = StoredCredentials(accessToken: "ya29.old", refreshToken: "1//refresh+", codeHash: "abc")
        let script = AccountScript(["token": Self.tokens(refreshToken: nil)])

        let fresh = try Self.account.refresh(stored, through: script.client)

        #expect(fresh == StoredCredentials(accessToken: "ya29.server"))
        #expect(
            script.transport.requests[0].bodyText.hasPrefix("grant_type=refresh_token&refresh_token=1%2F%2Frefresh%2B&")
        )
        #expect(script.transport.calls == [ProviderCall(.google, .refresh)])
    }

    @Test("Without a refresh token no request is sent, and the user must sign in again")
    func nothingToRefresh() {
        let script = AccountScript(["token": Self.tokens()])

        #expect(throws: AccountError.revoked) {
            try Self.account.refresh(StoredCredentials(accessToken: "ya29.old"), through: script.client)
        }
        #expect(script.paths.isEmpty)
    }
}
