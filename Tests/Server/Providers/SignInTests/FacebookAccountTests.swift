import Foundation
import HTTPTransport
import OpenSSLCrypto
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Facebook: verification of a sign-in")
struct FacebookAccountTests {
    static let account = FacebookAccount(appID: "123456", appSecret: "s3cr3t", graphVersion: "v25.0")
    static let me = Reply(200, #"{"id": "42", "name": "Bob Example"}"#)

    static func inspection(
        appID: String? = "123456", type: String? = "USER", isValid: Bool = true, userID: String? = "42",
        expiresAt: Int64? = 0
    ) -> Reply {
        var data: [String: Any] = ["is_valid": isValid, "scopes": ["public_profile"]]
        data["app_id"] = appID
        data["type"] = type
        data["user_id"] = userID
        data["expires_at"] = expiresAt
        let body = (try? JSONSerialization.data(withJSONObject: ["data": data])) ?? Data()
        return Reply(200, String(decoding: body, as: UTF8.self))
    }

    static func error(_ status: Int, code: Int) -> Reply {
        Reply(status, "{\"error\": {\"message\": \"No\", \"type\": \"OAuthException\", \"code\": \(code)}}")
    }

    private func verify(_ inspection: Reply, _ me: Reply = Self.me) throws(AccountError) -> SignInProfile {
        try Self.account.verify(
            .facebook, through: AccountScript(["debug_token": inspection, "me": me]).client)
    }

    @Test("A token of our app identifies its user, and the request contains our proof [28]")
    func good() throws {
        let script = AccountScript(["debug_token": Self.inspection(), "me": Self.me])

        let profile = try Self.account.verify(.facebook, through: script.client)

        #expect(profile == SignInProfile(providerUserID: "42", displayName: "Bob Example"))
        let proof = hmacSHA256(key: Array("s3cr3t".utf8), message: Array("EAAdevice".utf8)).hexLowercase
        #expect(
            script.transport.requests.map(\.url) == [
                "https://graph.facebook.com/v25.0/debug_token?input_token=EAAdevice&access_token=123456%7Cs3cr3t",
                "https://graph.facebook.com/v25.0/me?fields=id%2Cname&access_token=EAAdevice&appsecret_proof=\(proof)",
            ])
    }

    @Test("A token's lifetime is returned, unless it does not expire")
    func lifetime() throws {
        let inAnHour = Int64(Date().timeIntervalSince1970) + 3_600

        let lifetime = try #require(try verify(Self.inspection(expiresAt: inAnHour)).tokenLifetime)
        #expect((.seconds(3_590)...Duration.seconds(3_600)).contains(lifetime))
        #expect(try verify(Self.inspection(expiresAt: nil)).tokenLifetime == nil)
    }

    @Test("A token that is not a valid user token of our app is rejected [27]")
    func refused() {
        let bad = [
            Self.inspection(appID: "999999"), Self.inspection(appID: nil), Self.inspection(type: "PAGE"),
            Self.inspection(type: "APP"), Self.inspection(type: nil), Self.inspection(isValid: false),
            Self.inspection(userID: nil),
            Self.inspection(expiresAt: Int64(Date().timeIntervalSince1970) - 60), Self.inspection(expiresAt: 1),
            Reply(200, #"{"data": {"error": {"code": 190, "message": "Malformed"}, "is_valid": false, "scopes": []}}"#),
        ]
        for inspection in bad {
            #expect(throws: AccountError.rejected) { try verify(inspection) }
        }
    }

    @Test("A token is rejected if its user differs from that of the inspection")
    func otherUser() {
        #expect(throws: AccountError.rejected) { try verify(Self.inspection(userID: "43")) }
    }

    @Test(
        "Facebook's rejection of a user's token counts", arguments: [(400, 190), (401, 190), (400, 102), (403, 10)])
    func refusedAtMe(status: Int, code: Int) {
        #expect(throws: AccountError.rejected) { try verify(Self.inspection(), Self.error(status, code: code)) }
    }

    @Test("A token of another app, which Facebook does not inspect, is rejected for its bearer only")
    func otherApp() {
        #expect(throws: AccountError.rejected) { try verify(Self.error(400, code: 100)) }
    }

    @Test("A rejection of our own app token is a configuration error, not the user's", arguments: [101, 190, 104])
    func ourOwnFault(code: Int) {
        #expect(throws: AccountError.misconfigured(detail: "Facebook error \(code)")) {
            try verify(Self.error(400, code: code))
        }
    }

    @Test(
        "Throttling and temporary failures reject no user, regardless of the status",
        arguments: [1, 2, 4, 17, 32, 613], [400, 403])
    func trouble(code: Int, status: Int) {
        let expected = AccountError.notAsked(retryAfter: Pauses.usual, detail: "Facebook error \(code)")
        #expect(throws: expected) { try verify(Self.error(status, code: code)) }
        #expect(throws: expected) { try verify(Self.inspection(), Self.error(status, code: code)) }
    }

    @Test("A reply that is not Facebook's JSON rejects no user", arguments: [400, 404, 500, 503])
    func garbage(status: Int) {
        let expected =
            status >= 500
            ? AccountError.notAsked(retryAfter: Pauses.usual, detail: "status \(status)")
            : .unavailable(detail: "status \(status)")
        #expect(throws: expected) {
            try verify(Self.inspection(), Reply(status, "<html>"))
        }
    }

    @Test("A phone gets a long-lived token, and the server stores none")
    func longLived() throws {
        let script = AccountScript(["access_token": Reply(200, #"{"access_token": "EAAlong", "token_type": "bearer"}"#)]
        )

        #expect(try Self.account.replacementToken(for: .facebook, through: script.client) == "EAAlong")
        #expect(
            script.transport.requests[0].url
                == "https://graph.facebook.com/v25.0/oauth/access_token?grant_type=fb_exchange_token"
                + "&client_id=123456&client_secret=s3cr3t&fb_exchange_token=EAAdevice")
        #expect(Self.account.credentials(from: .facebook) == StoredCredentials())
        #expect(throws: AccountError.revoked) {
            try Self.account.refresh(StoredCredentials(), through: script.client)
        }
        #expect(throws: AccountError.rejected) {
            let refusing = AccountScript(["access_token": Self.error(400, code: 190)])
            _ = try Self.account.replacementToken(for: .facebook, through: refusing.client)
        }
    }
}
