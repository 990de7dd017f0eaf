import FoundationEssentials
import OpenSSLCrypto
import Testing

@testable import Sandbox

@Suite("Firebase Cloud Messaging, emulated")
struct FCMTests {
    private let sandbox: TestSandbox
    private let key: PrivateKey
    private static let now = 1_800_000_000
    private static let device = "device-1"
    private static let url = "fcm.googleapis.com/v1/projects/sandbox-project/messages:send"

    init() throws {
        sandbox = try TestSandbox()
        key = try PrivateKey(generating: .rs256)
        try sandbox.register(key, as: "fcm-key.pem")
    }

    /// Requests an access token with a valid assertion and the given changes.
    private func grant(_ changes: [String: JSONValue] = [:], key: PrivateKey? = nil) throws -> SandboxResponse {
        var claims: JSONObject = [
            "iss": .string(RegisteredApps.fcmServiceAccount), "aud": "https://oauth2.googleapis.com/token",
            "scope": "https://www.googleapis.com/auth/firebase.messaging", "iat": .int(Self.now),
            "exp": .int(Self.now + 3_600),
        ]
        for (name, value) in changes { claims[name] = value }
        return sandbox.token([
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": try signedToken(["alg": "RS256"], claims, with: key ?? self.key),
        ])
    }

    private func accessToken() throws -> String { try #require(try grant().json()["access_token"]?.string) }

    private func send(_ message: JSONValue, token: String? = nil, url: String = url) throws -> SandboxResponse {
        sandbox.send("POST", url, token: try token ?? accessToken(), json: ["message": message])
    }

    private static let message: JSONValue = [
        "token": .string(device), "notification": ["body": "Hi"], "android": ["notification": ["tag": "the-tag"]],
    ]

    private func script(_ outcome: String) {
        sandbox.send(
            "POST", "/sandbox/push-tokens", json: ["token": .string(Self.device), "outcome": .string(outcome)])
    }

    @Test("Only the service account's assertion, for messages and at most one hour, yields an access token")
    func assertions() throws {
        let wrong: [[String: JSONValue]] = [
            ["iss": "someone@example.com"], ["aud": "https://example.com/token"],
            ["scope": "https://www.googleapis.com/auth/drive"], ["exp": .int(Self.now + 3_601)],
            ["iat": .int(Self.now - 3_600), "exp": .int(Self.now)], ["iat": .int(Self.now + 301)],
        ]
        for changes in wrong {
            let response = try grant(changes)
            #expect(response.status == 400, "\(changes)")
            #expect(try response.json()["error"]?.string == "invalid_grant")
        }
        #expect(try grant(key: try PrivateKey(generating: .rs256)).status == 400)
        #expect(try sandbox.violations().count == wrong.count + 1)
        let scopes = "https://www.googleapis.com/auth/datastore https://www.googleapis.com/auth/cloud-platform"
        #expect(try grant(["scope": .string(scopes)]).status == 200)
    }

    @Test("An access token is valid for less than an hour; without a valid one the reply is 401")
    func accessTokens() throws {
        let token = try accessToken()
        #expect(try send(Self.message, token: "ya29.other").status == 401)
        sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 3_598])
        #expect(try send(Self.message, token: token).status == 200)
        sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 3_600])
        #expect(try send(Self.message, token: token).status == 401)
    }

    @Test("A message without a token or text, with data other than text, or too large is rejected and recorded")
    func messages() throws {
        let wrong: [JSONValue] = [
            ["notification": ["body": "Hi"]], ["token": "a", "topic": "news"], ["topic": "no news"],
            ["condition": "always"],
            ["token": "a", "notification": ["body": "Hi"], "data": ["number": 1]],
            ["token": "a", "notification": ["body": .string(String(repeating: "x", count: 4_096))]],
        ]
        for (number, message) in wrong.enumerated() {
            let response = try send(message)
            #expect(response.status == 400)
            #expect(try response.json()["error"]?["status"]?.string == "INVALID_ARGUMENT")
            #expect(try sandbox.violations().count == number + 1)
        }
        #expect(
            try send(Self.message, url: "fcm.googleapis.com/v1/projects/another/messages:send").status == 404)
        #expect(try sandbox.violations().last == "unknown-route")
    }

    @Test(
        "FCM also accepts: data alone, a title alone, topics and conditions; a validated message is not delivered"
    )
    func others() throws {
        for (message, target, text) in [
            (["token": "a", "data": ["key": "value"]] as JSONValue, "a", ""),
            (["token": "b", "notification": ["title": "T"]], "b", "T"),
            (["topic": "news", "notification": ["body": "Hi"]], "/topics/news", "Hi"),
            (["condition": "'news' in topics", "data": ["a": "b"]], "'news' in topics", ""),
        ] {
            #expect(try send(message).status == 200)
            let shown = try sandbox.send("GET", "/sandbox/pushes").json().array?.filter {
                $0["token"]?.string == target
            }
            #expect(shown?.compactMap { $0["text"]?.string } == [text])
        }
        let validated = sandbox.send(
            "POST", Self.url, token: try accessToken(), json: ["message": Self.message, "validate_only": true])
        #expect(validated.status == 200)
        #expect(try validated.json()["name"]?.string == "projects/sandbox-project/messages/fake_message_id")
        #expect(try sandbox.pushes(to: Self.device).isEmpty)
        script("unregistered")
        let gone = sandbox.send(
            "POST", Self.url, token: try accessToken(), json: ["message": Self.message, "validate_only": true])
        #expect(gone.status == 404)
        #expect(try sandbox.violations() == [])
    }
}
