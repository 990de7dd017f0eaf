import FoundationEssentials
import OpenSSLCrypto
import Testing

@testable import Sandbox

@Suite("Sign in with Apple, emulated")
struct AppleTests {
    private let sandbox: TestSandbox
    private static let now = 1_800_000_000

    init() throws { sandbox = try TestSandbox() }

    private func account() throws -> JSONValue { try sandbox.account(["provider": "apple", "name": "Ann Apple"]) }

    /// A valid client secret with the given changes.
    private func clientSecret(
        alg: String = "ES256", kid: String = RegisteredApps.appleKeyID, changes: [String: JSONValue] = [:],
        signature: ((PrivateKey, [UInt8]) throws -> [UInt8])? = nil
    ) throws -> String {
        var claims: JSONObject = [
            "iss": .string(RegisteredApps.appleTeamID), "iat": .int(Self.now), "exp": .int(Self.now + 3_600),
            "aud": "https://appleid.apple.com", "sub": .string(RegisteredApps.appleClientID),
        ]
        for (name, value) in changes { claims[name] = value }
        let header: JSONValue = ["alg": .string(alg), "kid": .string(kid)]
        let text = header.bytes().base64URL + "." + JSONValue.object(claims).bytes().base64URL
        let key = try sandbox.server.appleKeys.clientKey()
        let message = Array(text.utf8)
        return try text + "." + (signature?(key, message) ?? key.signature(over: message)).base64URL
    }

    private func ask(_ path: String, _ fields: [String: String], secret: String? = nil) throws -> SandboxResponse {
        var all = ["client_id": RegisteredApps.appleClientID, "client_secret": try secret ?? clientSecret()]
        all.merge(fields) { $1 }
        let form = all.map { PercentEncoding.encode($0.key) + "=" + PercentEncoding.encode($0.value) }
        return sandbox.send(
            "POST", "appleid.apple.com" + path, headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.joined(separator: "&").utf8))
    }

    private func exchange(_ code: String?) throws -> SandboxResponse {
        try ask("/auth/token", ["grant_type": "authorization_code", "code": code ?? ""])
    }

    /// The header and claims of a token, after its signature was checked with the published keys.
    private func verified(_ token: String?) throws -> (header: JSONValue, claims: JSONValue)? {
        let parts = try #require(token).split(separator: ".")
        let header = try JSONValue(parsing: try #require([UInt8](base64URL: parts[0])))
        let claims = try JSONValue(parsing: try #require([UInt8](base64URL: parts[1])))
        let keys = try sandbox.send("GET", "appleid.apple.com/auth/keys").json()["keys"]?.array ?? []
        guard let n = keys.first(where: { $0["kid"] == header["kid"] })?["n"] else { return nil }
        let signature = try #require([UInt8](base64URL: parts[2]))
        let candidates = try AppleKeys.Choice.allCases.map { try sandbox.server.appleKeys.key($0).key.publicKey }
        let key = try #require(
            try candidates.first { try $0.webKeyMembers.contains { $0.name == "n" && .string($0.value) == n } })
        return key.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8)) ? (header, claims) : nil
    }

    @Test("An account signs in with an identity token, a code and its name")
    func signedIn() throws {
        let account = try account()
        let headers = account["headers"]

        let token = try #require(try verified(headers?["access_token"]?.string))
        #expect(headers?["X-token-type"] == "AppleSignInToken")
        #expect(headers?["SyncServer-authorization-code"] == account["authorizationCode"])
        #expect(
            try JSONValue(parsing: Array((headers?["X-account-details"]?.string ?? "").utf8))["fullName"] == "Ann Apple"
        )
        #expect(token.header["alg"] == "RS256")
        #expect(token.claims["iss"] == "https://appleid.apple.com")
        #expect(token.claims["aud"] == .string(RegisteredApps.appleClientID))
        #expect(token.claims["sub"] == account["id"])
        #expect(token.claims["exp"] == .int(Self.now + 600))
    }

    @Test("Three keys are published, and each rotation signs with the next one, which is already published")
    func keys() throws {
        func names() throws -> [JSONValue] {
            try sandbox.send("GET", "appleid.apple.com/auth/keys").json()["keys"]?.array?.compactMap { $0["kid"] } ?? []
        }
        let account = try account()
        let id = try #require(account["id"]?.string)
        let before = try names()
        let old = try verified(account["accessToken"]?.string)?.header["kid"]

        #expect(sandbox.send("POST", "/sandbox/apple/rotate-keys", json: [:]).status == 204)

        let new = try verified(sandbox.send("GET", "/sandbox/accounts/\(id)").json()["accessToken"]?.string)
        #expect(before.count == 3)
        #expect(try Set(names().map { $0.string }).count == 3)
        #expect(new?.header["kid"] != old)
        #expect(before.contains(try #require(new?.header["kid"])))
        #expect(try verified(account["accessToken"]?.string) != nil)
        // The keys survive a restart.
        let again = try TestSandbox(directory: sandbox.directory)
        #expect(try again.server.appleKeys.published() == sandbox.server.appleKeys.published())
    }

    @Test("A code works once, and returns a refresh token and an identity token")
    func codes() throws {
        let account = try account()
        let reply = try exchange(account["authorizationCode"]?.string)

        #expect(reply.status == 200)
        #expect(try verified(reply.json()["id_token"]?.string)?.claims["sub"] == account["id"])
        #expect(try reply.json()["refresh_token"]?.string?.isEmpty == false)
        #expect(try sandbox.violations().isEmpty)
        let again = try exchange(account["authorizationCode"]?.string)
        #expect(again.status == 400)
        #expect(try again.json()["error"] == "invalid_grant")
        #expect(try sandbox.violations() == ["code-reused"])
    }

    @Test("Codes expire after five minutes, and those of another app are rejected")
    func badCodes() throws {
        let account = try account()
        let foreign = try sandbox.account(["provider": "apple", "audience": "com.example.other"])
        #expect(try exchange(foreign["authorizationCode"]?.string).json()["error"] == "invalid_grant")
        #expect(try exchange("c-unknown").json()["error"] == "invalid_grant")
        let withRedirect = try ask(
            "/auth/token",
            [
                "grant_type": "authorization_code", "code": account["authorizationCode"]?.string ?? "",
                "redirect_uri": "https://example.com",
            ])
        #expect(withRedirect.status == 400)
        sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 301])
        let secret = try clientSecret(changes: ["iat": .int(Self.now + 301)])
        let late = try ask(
            "/auth/token", ["grant_type": "authorization_code", "code": account["authorizationCode"]?.string ?? ""],
            secret: secret)
        #expect(try late.json()["error"] == "invalid_grant")
    }

    @Test("Client secrets that Apple would reject are rejected, and recorded")
    func clientSecrets() throws {
        let der: (PrivateKey, [UInt8]) throws -> [UInt8] = { key, message in
            let signature = try key.signature(over: message)
            return [0x30, 0x44, 0x02, 0x20] + signature.prefix(32) + [0x02, 0x20] + signature.suffix(32)
        }
        let other = try PrivateKey(generating: .es256)
        let wrong = [
            try clientSecret(alg: "HS256"), try clientSecret(kid: "OTHER"),
            try clientSecret(changes: ["iss": "OTHER"]), try clientSecret(changes: ["sub": "other"]),
            try clientSecret(changes: ["aud": "https://apple.com"]),
            try clientSecret(changes: ["exp": .int(Self.now)]),
            try clientSecret(changes: ["exp": .int(Self.now + 15_777_001)]),
            try clientSecret(changes: ["iat": .int(Self.now + 301)]), try clientSecret(changes: ["iat": .null]),
            try clientSecret(signature: der), try clientSecret { _, message in try other.signature(over: message) },
            try clientSecret { _, _ in [] }, "secret", "",
        ]
        for secret in wrong {
            let reply = try ask("/auth/token", ["grant_type": "refresh_token", "refresh_token": "r"], secret: secret)
            #expect(reply.status == 400)
            #expect(try reply.json()["error"] == "invalid_client", "\(secret)")
        }
        #expect(try sandbox.violations() == wrong.map { _ in "client-secret" })
    }

    @Test("A refresh token may be checked once a day; more frequent checks are violations")
    func checks() throws {
        let account = try account()
        let token = try #require(
            try exchange(account["authorizationCode"]?.string).json()["refresh_token"]?.string)
        func check(at offset: Int) throws -> Int {
            sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": .int(offset)])
            let times: [String: JSONValue] = ["iat": .int(Self.now + offset), "exp": .int(Self.now + offset + 60)]
            return try ask(
                "/auth/token", ["grant_type": "refresh_token", "refresh_token": token],
                secret: clientSecret(changes: times)
            ).status
        }

        #expect(try check(at: 0) == 200)
        #expect(try check(at: 86_400) == 200)
        #expect(try sandbox.violations().isEmpty)
        #expect(try check(at: 86_400 + 86_399) == 200)
        #expect(try sandbox.violations() == ["refresh-check"])
    }

    @Test("A revoked account is not confirmed again; revoking returns 200 even for unknown tokens")
    func revoked() throws {
        let account = try account()
        let token = try #require(
            try exchange(account["authorizationCode"]?.string).json()["refresh_token"]?.string)

        #expect(try ask("/auth/revoke", ["token": "unknown"]).status == 200)
        #expect(try ask("/auth/revoke", ["token": token, "token_type_hint": "refresh_token"]).status == 200)

        let check = try ask("/auth/token", ["grant_type": "refresh_token", "refresh_token": token])
        #expect(try check.json()["error"] == "invalid_grant")
    }

    @Test("Invalid identity tokens and notifications can be created for tests")
    func oddities() throws {
        let id = try #require(try account()["id"]?.string)
        func make(_ action: String, _ json: JSONValue) throws -> JSONValue {
            try sandbox.send("POST", "/sandbox/accounts/\(id)/\(action)", json: json).json()
        }
        let old = try make("identity-token", ["secondsOld": 700])["identityToken"]?.string
        #expect(try verified(old)?.claims["exp"] == .int(Self.now - 100))
        let foreign = try make("identity-token", ["audience": "x", "issuer": "y", "key": "previous"])
        #expect(try verified(foreign["identityToken"]?.string)?.claims["aud"] == "x")
        #expect(try verified(make("identity-token", ["key": "unknown"])["identityToken"]?.string) == nil)
        #expect(try make("identity-token", ["key": "best"])["code"] != nil)

        let text = try verified(make("notice", ["type": "consent-revoked", "identifier": "n"])["payload"]?.string)
        let events = try JSONValue(parsing: Array((text?.claims["events"]?.string ?? "").utf8))
        #expect(events["type"] == "consent-revoked" && events["sub"] == .string(id))
        #expect(text?.claims["jti"] == "n")
        let object = try verified(make("notice", ["type": "email-enabled", "eventsAs": "object"])["payload"]?.string)
        #expect(object?.claims["events"]?["type"] == "email-enabled")
    }
}
