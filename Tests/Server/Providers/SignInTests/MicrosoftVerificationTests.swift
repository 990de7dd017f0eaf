import Foundation
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Microsoft: verification of a sign-in")
struct MicrosoftVerificationTests {
    let maker: MicrosoftTokenMaker

    init() throws { maker = try MicrosoftTokenMaker.shared.get() }

    private var account: MicrosoftAccount {
        MicrosoftAccount(clientID: MicrosoftTokenMaker.clientID, clientSecret: "s~+/=")
    }

    private func verify(
        _ idToken: String, accessToken: String? = "EwB", replies: [String: Reply] = [:]
    ) throws -> SignInProfile {
        let presented = PresentedCredentials(
            accountType: .microsoft, accessToken: idToken, microsoftAccessToken: accessToken)
        return try account.verify(presented, through: try AccountScript.microsoft(replies).client)
    }

    @Test("Both tokens of a user who signed in to our app are accepted [33]")
    func good() throws {
        let script = try AccountScript.microsoft()
        let presented = PresentedCredentials(
            accountType: .microsoft, accessToken: try maker.token(), microsoftAccessToken: "EwB")

        let profile = try account.verify(presented, through: script.client)

        #expect(profile.providerUserID == "8f3a0d1c2b4e5f60" && profile.displayName == "Alice Example")
        #expect(try (.seconds(3_500)...(.seconds(3_600))).contains(#require(profile.tokenLifetime)))
        #expect(
            script.paths == [
                "https://login.microsoftonline.com/common/discovery/v2.0/keys", "https://graph.microsoft.com/v1.0/me",
            ])
        #expect(script.transport.requests[0].headers[.authorization] == nil)
        #expect(script.transport.requests[1].headers[.authorization] == "Bearer EwB")
    }

    @Test("Accounts of organisations have an id with hyphens, and their own tenant")
    func workAccount() throws {
        let id = "6f1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
        let tenant = "3c1d7f52-90ab-4c3e-8d6f-0a1b2c3d4e5f"
        let token = try maker.token([
            "oid": id, "tid": tenant, "iss": "https://login.microsoftonline.com/\(tenant)/v2.0",
        ])

        let profile = try verify(token, replies: ["me": Reply(200, "{\"id\": \"\(id.uppercased())\"}")])

        #expect(profile.providerUserID == id.uppercased() && profile.displayName == "")
    }

    /// Faults of tokens with a valid signature.
    static let wrongTokens: [(String, [String: (any Sendable)?])] = {
        let now = Int(Date().timeIntervalSince1970)
        return [
            ("foreign audience", ["aud": "00000000-1111-2222-3333-444444444444"]),
            ("several audiences", ["aud": [MicrosoftTokenMaker.clientID, "somebody-else"]]),
            ("audience of Graph", ["aud": "https://graph.microsoft.com"]),
            ("no audience", ["aud": nil]),
            ("foreign issuer", ["iss": "https://login.example.com/\(MicrosoftTokenMaker.personalTenant)/v2.0"]),
            ("issuer of another tenant", ["tid": "3c1d7f52-90ab-4c3e-8d6f-0a1b2c3d4e5f"]),
            ("no tenant", ["tid": nil]),
            ("tenant that is a path", ["tid": "x/../y", "iss": "https://login.microsoftonline.com/x/../y/v2.0"]),
            ("version 1 issuer", ["iss": "https://sts.windows.net/\(MicrosoftTokenMaker.personalTenant)/"]),
            ("expired", ["exp": now - 120]), ("no end", ["exp": nil]),
            ("made in the future", ["iat": now + 3_600]), ("not yet valid", ["nbf": now + 3_600]),
            ("another person", ["oid": "00000000-0000-0000-1111-0d1c2b4e5f60"]), ("no person", ["oid": nil]),
            ("person of zeros", ["oid": "00000000-0000-0000-0000-000000000000"]),
        ]
    }()

    @Test("A signed token with wrong claims is rejected", arguments: wrongTokens)
    func wrongClaims(what: String, changes: [String: (any Sendable)?]) throws {
        let token = try maker.token(changes.mapValues { $0.map { $0 as Any } })
        #expect(throws: AccountError.rejected, "\(what)") { try verify(token) }
    }

    @Test("A token that is not signed by a published key, or with another algorithm, is rejected")
    func forgeries() throws {
        let good = try maker.token()
        let parts = good.split(separator: ".").map(String.init)
        var tampered = MicrosoftTokenMaker.claims()
        tampered["name"] = "Mallory"
        let none = try MicrosoftTokenMaker.encode(["alg": "none", "kid": "K1"]) + "." + parts[1] + "."
        let symmetricInput = try MicrosoftTokenMaker.encode(["alg": "HS256", "kid": "K1"]) + "." + parts[1]
        let publicPEM = try maker.key.publicKey.pem
        let symmetric =
            symmetricInput + "."
            + hmacSHA256(key: Array(publicPEM.utf8), message: Array(symmetricInput.utf8)).base64URL
        let forged: [String] = [
            try maker.token(signedBy: maker.otherKey), none, symmetric,
            try maker.token(header: ["alg": "RS256", "kid": "K2"]), try maker.token(header: ["alg": "RS256"]),
            try maker.token(header: ["alg": "ES256", "kid": "K1"]),
            try parts[0] + "." + MicrosoftTokenMaker.encode(tampered) + "." + parts[2],
            parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1], "", "EwB4A8l6", "a.b.c",
            String(repeating: "a", count: 100_000),
        ]
        for token in forged {
            #expect(throws: AccountError.rejected, "\(token.prefix(60))") { try verify(token) }
        }
    }

    @Test("A valid id token with an invalid access token, or without one, is rejected [32]")
    func badAccessToken() throws {
        let token = try maker.token()
        func refusal(_ status: Int, _ code: String) -> [String: Reply] {
            ["me": Reply(status, #"{"error": {"code": "\#(code)", "message": "m"}}"#)]
        }
        #expect(throws: AccountError.rejected) {
            try verify(token, replies: refusal(401, "InvalidAuthenticationToken"))
        }
        #expect(throws: AccountError.scopeMissing) {
            try verify(token, replies: refusal(403, "Authorization_RequestDenied"))
        }
        #expect(throws: AccountError.rejected) { try verify(token, accessToken: nil) }
        #expect(throws: AccountError.rejected) {
            try verify(token, replies: ["me": Reply(200, #"{"id": "1111111111111111"}"#)])
        }
    }

    @Test("Failures of Graph or of the key endpoint reject no user", arguments: ["me", "keys"], [429, 500, 503])
    func unavailable(path: String, status: Int) throws {
        let token = try maker.token()
        #expect(
            throws: AccountError.notAsked(
                retryAfter: Pauses.usual, detail: "status \(status)")
        ) {
            try verify(token, replies: [path: Reply(status)])
        }
    }
}
