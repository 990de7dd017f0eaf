import Foundation
import HTTPTransport
import SyncProtocol
import TestSupport
import Testing

@testable import Providers

@Suite("Facebook: verification of Limited Login's identity tokens")
struct FacebookLimitedLoginTests {
    private static let keysURL = "https://limited.facebook.com/.well-known/oauth/openid/jwks/"
    private let issuer: IssuerKey
    private let account = FacebookAccount(appID: "123456", appSecret: "s3cr3t", graphVersion: "v25.0")

    init() throws { issuer = try IssuerKey.shared.get() }

    /// The reply to requests for the keys; other requests get none.
    private var script: AccountScript {
        get throws {
            let keys = try IssuerKey.published([issuer])
            return AccountScript(answering: { $0 == Self.keysURL ? keys : Reply(404) })
        }
    }

    /// A token with some claims replaced, or omitted if they are `nil`.
    private func presented(_ changes: [String: Any?] = [:]) throws -> PresentedCredentials {
        let now = Int(Date().timeIntervalSince1970)
        var claims: [String: Any] = [
            "iss": "https://www.facebook.com", "aud": "123456", "sub": "42", "iat": now, "exp": now + 3_600,
            "jti": "x", "nonce": "chosen by the app", "name": "Bob Example",
        ]
        for (name, value) in changes { claims[name] = value }
        return PresentedCredentials(accountType: .facebook, accessToken: try issuer.token(claims))
    }

    @Test(
        "A token for our app identifies the user, and no other address is contacted",
        arguments: ["https://www.facebook.com", "https://limited.facebook.com"])
    func good(issuer: String) throws {
        let script = try script

        let profile = try account.verify(try presented(["iss": issuer]), through: script.client)

        #expect(profile.providerUserID == "42" && profile.displayName == "Bob Example")
        #expect((.seconds(3_590)...Duration.seconds(3_600)).contains(try #require(profile.tokenLifetime)))
        #expect(script.paths == [Self.keysURL])
    }

    @Test("A name that is missing or not a string is omitted")
    func nameless() throws {
        for name in [nil, 7] as [Any?] {
            #expect(try account.verify(try presented(["name": name]), through: try script.client).displayName == "")
        }
    }

    @Test("Tokens of another app or issuer, expired, without a subject or not signed by a known key are rejected")
    func refused() throws {
        let past = Int(Date().timeIntervalSince1970) - 3_600
        for changes in [
            ["aud": "999999"], ["aud": ["123456", "999999"]], ["iss": "https://facebook.com.example.com"],
            ["iss": "https://accounts.google.com"], ["exp": past], ["exp": nil], ["sub": ""], ["sub": nil],
        ] as [[String: Any?]] {
            #expect(throws: AccountError.rejected, "\(changes)") {
                try account.verify(try presented(changes), through: try script.client)
            }
        }
        for text in ["a.b.c", "..", "EAA.device", "eyJhbGciOiJub25lIn0.eyJzdWIiOiI0MiJ9."] {
            let forged = PresentedCredentials(accountType: .facebook, accessToken: text)
            #expect(throws: AccountError.rejected) { try account.verify(forged, through: try script.client) }
        }
    }

    @Test("If keys cannot be fetched, no user is rejected")
    func keysAway() throws {
        let away = AccountScript(answering: { _ in Reply(503) })
        #expect(throws: AccountError.notAsked(retryAfter: Pauses.usual, detail: "status 503")) {
            try account.verify(try presented(), through: away.client)
        }
    }

    @Test("No long-lived token is requested")
    func noReplacement() throws {
        let script = try script
        #expect(try account.replacementToken(for: try presented(), through: script.client) == nil)
        #expect(script.paths.isEmpty)
    }
}
