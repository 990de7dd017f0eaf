import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Google: verification of a sign-in")
struct GoogleVerificationTests {
    static let account = GoogleAccount(
        clientID: "1234567890-server.apps.googleusercontent.com", clientSecret: "s3cr3t",
        otherClientIDs: ["777-partner.apps.googleusercontent.com"])
    static let user = Reply(200, #"{"sub": "1098", "name": "Alice Example"}"#)

    static func tokenInfo(
        aud: String = "1234567890-ios.apps.googleusercontent.com", azp: String? = nil, sub: String? = "1098",
        expiresIn: String? = "3412"
    ) -> Reply {
        var members = ["\"aud\": \"\(aud)\""]
        if let azp { members.append("\"azp\": \"\(azp)\"") }
        if let sub { members.append("\"sub\": \"\(sub)\"") }
        if let expiresIn { members.append("\"expires_in\": \"\(expiresIn)\"") }
        return Reply(200, "{\(members.joined(separator: ", "))}")
    }

    private func verify(_ tokenInfo: Reply, _ user: Reply = Self.user) throws(AccountError) -> SignInProfile {
        let script = AccountScript(["tokeninfo": tokenInfo, "userinfo": user])
        return try Self.account.verify(.google, through: script.client)
    }

    @Test("A token of our app identifies its user, with name and lifetime [18]")
    func good() throws {
        let script = AccountScript(["tokeninfo": Self.tokenInfo(), "userinfo": Self.user])

        let profile = try Self.account.verify(.google, through: script.client)

        #expect(
            profile
                == SignInProfile(
                    providerUserID: "1098", displayName: "Alice Example", tokenLifetime: .seconds(3_412)))
        #expect(
            script.paths == [
                "https://oauth2.googleapis.com/tokeninfo", "https://www.googleapis.com/oauth2/v3/userinfo",
            ])
        #expect(script.transport.requests[0].headers[.authorization] == nil)
        #expect(script.transport.requests[1].headers[.authorization] == "Bearer ya29.device")
        #expect(script.transport.calls == Array(repeating: ProviderCall(.google, .identity), count: 2))
    }

    @Test(
        "Tokens of our own clients are accepted: the server's, those of the same project, and listed ones",
        arguments: [
            "1234567890-server.apps.googleusercontent.com", "1234567890-android.apps.googleusercontent.com",
            "777-partner.apps.googleusercontent.com",
        ])
    func ours(audience: String) throws {
        #expect(try verify(Self.tokenInfo(aud: audience)).providerUserID == "1098")
        #expect(try verify(Self.tokenInfo(aud: "elsewhere", azp: audience)).providerUserID == "1098")
    }

    @Test(
        "Tokens of other apps are rejected without a request for their user",
        arguments: [
            "999-evil.apps.googleusercontent.com", "123456789-evil.apps.googleusercontent.com",
            "12345678901-evil.apps.googleusercontent.com", "1234567890.apps.googleusercontent.com",
            "777-other.apps.googleusercontent.com", "", "1234567890",
        ])
    func foreign(audience: String) throws {
        let script = AccountScript(["tokeninfo": Self.tokenInfo(aud: audience), "userinfo": Self.user])

        #expect(throws: AccountError.rejected) { try Self.account.verify(.google, through: script.client) }
        #expect(script.paths.count == 1)
        #expect(throws: AccountError.rejected) { try verify(Self.tokenInfo(aud: "elsewhere", azp: audience)) }
    }

    @Test("A client id without a project matches only itself")
    func oddClientID() {
        let account = GoogleAccount(clientID: "-server.example", clientSecret: "", otherClientIDs: [])
        let script = AccountScript(["tokeninfo": Self.tokenInfo(aud: "-evil.example"), "userinfo": Self.user])

        #expect(throws: AccountError.rejected) { try account.verify(.google, through: script.client) }
    }

    @Test("A token is rejected if two replies about it disagree")
    func otherSubject() {
        #expect(throws: AccountError.rejected) { try verify(Self.tokenInfo(sub: "2000")) }
    }

    @Test("Optional members may be absent")
    func sparse() throws {
        let profile = try verify(Self.tokenInfo(sub: nil, expiresIn: nil), Reply(200, #"{"sub": "1098"}"#))

        #expect(profile == SignInProfile(providerUserID: "1098", displayName: ""))
    }

    @Test("An invalid token is rejected [17]", arguments: [400, 401])
    func badToken(status: Int) {
        let refusal = Reply(status, #"{"error": "invalid_token", "error_description": "Invalid Value"}"#)

        #expect(throws: AccountError.rejected) { try verify(refusal) }
        #expect(throws: AccountError.rejected) { try verify(Self.tokenInfo(), refusal) }
    }

    @Test(
        "A failing or throttling provider rejects no user",
        arguments: [429, 500, 502, 503, 504])
    func trouble(status: Int) throws {
        let isTransient = status == 429 || status >= 500
        let expected =
            isTransient
            ? AccountError.notAsked(retryAfter: Pauses.usual, detail: "status \(status)")
            : .unavailable(detail: "status \(status)")
        for script in [
            AccountScript(["tokeninfo": Reply(status), "userinfo": Self.user]),
            AccountScript(["tokeninfo": Self.tokenInfo(), "userinfo": Reply(status)]),
        ] {
            #expect(throws: expected) {
                try Self.account.verify(.google, through: script.client)
            }
        }
    }

    @Test("A reply that is not the documented JSON is a failure of the provider")
    func garbage() throws {
        for body in ["", "<html>", "[]", "{\"aud\": 5}"] {
            let script = AccountScript(["tokeninfo": Reply(200, body), "userinfo": Self.user])
            #expect(throws: AccountError.self) { try Self.account.verify(.google, through: script.client) }
        }
        #expect(throws: AccountError.unavailable(detail: "unreadable reply with status 200")) {
            try verify(Self.tokenInfo(), Reply(200, #"{"name": "nobody"}"#))
        }
    }

    @Test("Temporary errors are retried after the time that the provider requests")
    func passing() throws {
        let script = AccountScript(inOrder: [
            Reply(429, headers: [.retryAfter: "3"]), Reply(503), Self.tokenInfo(), Reply(500), Self.user,
        ])

        #expect(try Self.account.verify(.google, through: script.client).providerUserID == "1098")
        #expect(script.pauses.pauses.count == 3)
        #expect((.seconds(3)...Duration.milliseconds(3_301)).contains(script.pauses.pauses[0]))
    }

    @Test(
        "Failures in transit are distinguished",
        arguments: [
            (TransportError.notSent, AccountError.notAsked(retryAfter: Pauses.usual, detail: "no connection")),
            (.interrupted, .notAsked(retryAfter: Pauses.usual, detail: "connection lost")), (.timedOut, .timedOut),
            (.refused("certificate"), .misconfigured(detail: "certificate")),
        ])
    func transport(failure: TransportError, expected: AccountError) {
        #expect(throws: expected) {
            try Self.account.verify(.google, through: AccountScript(failing: failure).client)
        }
    }

    @Test("After the deadline no request is sent")
    func late() {
        let script = AccountScript(["tokeninfo": Self.tokenInfo(), "userinfo": Self.user])

        #expect(throws: AccountError.timedOut) {
            try Self.account.verify(.google, through: script.client(within: .zero))
        }
        #expect(script.paths.isEmpty)
    }
}
