import FoundationEssentials
import OpenSSLCrypto
import Testing

@testable import Sandbox

@Suite("Apple's push service, emulated")
struct APNsTests {
    private let sandbox: TestSandbox
    private let key: PrivateKey
    private static let now = 1_800_000_000
    private static let device = String(repeating: "0a", count: 32)

    init() throws {
        sandbox = try TestSandbox()
        key = try PrivateKey(generating: .es256)
        try sandbox.register(key, as: "apns-key.pem")
    }

    private func token(
        issuedAt: Int = now, kid: String = RegisteredApps.apnsKeyID, team: String = RegisteredApps.apnsTeamID,
        key: PrivateKey? = nil
    ) throws -> String {
        try signedToken(
            ["alg": "ES256", "kid": .string(kid)], ["iss": .string(team), "iat": .int(issuedAt)], with: key ?? self.key)
    }

    /// Sends a valid notification with the given changes; a header set to `nil` is omitted.
    private func push(
        to device: String = device, host: String = "api.push.apple.com", method: String = "POST",
        authorization: String?? = nil, changes: [String: String?] = [:],
        payload: String = #"{"aps":{"alert":"Hi"}}"#
    ) throws -> SandboxResponse {
        var headers: [String: String?] = [
            "authorization": try authorization ?? "bearer " + token(), "x-sandbox-protocol": "HTTP/2.0",
            "apns-topic": RegisteredApps.apnsTopic, "apns-push-type": "alert", "apns-priority": "10",
            "apns-expiration": "1800086400", "apns-id": "8a3e1f5c-0b7e-4f5d-9c1e-2f6a7b8c9d0e",
            "apns-collapse-id": "one",
        ]
        headers.merge(changes) { $1 }
        return sandbox.send(
            method, host + "/3/device/" + device,
            headers: headers.compactMap { name, value in value.map { (name, $0) } }, body: Array(payload.utf8))
    }

    private func script(_ json: JSONObject) throws {
        var json = json
        json["token"] = .string(Self.device)
        #expect(sandbox.send("POST", "/sandbox/push-tokens", json: .object(json)).status == 201)
    }

    private func reason(_ response: SandboxResponse) throws -> String? { try response.json()["reason"]?.string }

    @Test("A notification is accepted with its id, and listed")
    func delivered() throws {
        let response = try push()

        #expect(response.status == 200)
        #expect(response.header("apns-id") == "8a3e1f5c-0b7e-4f5d-9c1e-2f6a7b8c9d0e")
        let shown = try #require(try sandbox.pushes(to: Self.device).first)
        #expect(shown["text"]?.string == "Hi")
        #expect(shown["service"]?.string == "apns")
        #expect(shown["environment"]?.string == "production")
        #expect(try sandbox.violations() == [])
    }

    @Test("An alert may be an object with a body; a notification without an id receives one")
    func body() throws {
        let response = try push(
            changes: ["apns-id": nil], payload: #"{"aps":{"alert":{"title":"T","body":"Body"}}}"#)

        #expect(response.status == 200)
        #expect(response.header("apns-id").flatMap { UUID(uuidString: $0) } != nil)
        #expect(try sandbox.pushes(to: Self.device).compactMap { $0["text"]?.string } == ["Body"])
    }

    @Test("Client errors are rejected with Apple's reasons, and recorded; nothing is delivered")
    func headers() throws {
        let wrong: [([String: String?], Int, String)] = [
            (["apns-topic": nil], 400, "MissingTopic"), (["apns-topic": "com.example.other"], 400, "TopicDisallowed"),
            (["apns-push-type": "shout"], 400, "InvalidPushType"), (["apns-priority": "7"], 400, "BadPriority"),
            (["apns-push-type": "background"], 400, "BadPriority"),
            (["apns-push-type": "voip"], 400, "TopicDisallowed"),
            (["apns-expiration": "soon"], 400, "BadExpirationDate"), (["apns-id": "1"], 400, "BadMessageId"),
            (["apns-id": "8A3E1F5C-0B7E-4F5D-9C1E-2F6A7B8C9D0E"], 400, "BadMessageId"),
            (["apns-collapse-id": String(repeating: "x", count: 65)], 400, "BadCollapseId"),
        ]
        for (number, (changes, status, expected)) in wrong.enumerated() {
            let response = try push(changes: changes)
            #expect(response.status == status, "\(changes)")
            #expect(try reason(response) == expected)
            #expect(try sandbox.violations().count == number + 1)
        }
        #expect(try sandbox.pushes(to: Self.device).isEmpty)
    }

    @Test("Apple also accepts: no push type, background pushes without an alert, calls with their own topic")
    func others() throws {
        let topic = RegisteredApps.apnsTopic
        for (changes, payload) in [
            (["apns-push-type": nil] as [String: String?], #"{"aps":{"alert":{"title":"T"}}}"#),
            (
                ["apns-push-type": "background", "apns-priority": "5"],
                #"{"aps":{"content-available":1},"key":"value"}"#
            ),
            (
                ["apns-push-type": "voip", "apns-topic": topic + ".voip"],
                #"{"call":"\#(String(repeating: "x", count: 5_000))"}"#
            ),
            ([:], #"{"aps":{"badge":3}}"#),
        ] { #expect(try push(changes: changes, payload: payload).status == 200, "\(changes)") }
        #expect(try sandbox.pushes(to: Self.device).compactMap { $0["text"]?.string } == ["T", "", "", ""])
        #expect(try sandbox.violations() == [])
    }

    @Test("Only a provider token of the team, signed with its key and at most one hour old, is accepted")
    func providerToken() throws {
        let refused = [
            nil, "bearer x", "bearer " + (try token(key: try PrivateKey(generating: .es256))),
            "bearer " + (try token(kid: "OTHER")), "bearer " + (try token(team: "OTHER")),
            "bearer " + (try token(issuedAt: Self.now + 301)),
        ]
        for authorization in refused {
            let response = try push(authorization: .some(authorization))
            #expect(response.status == 403)
            #expect(try reason(response) == (authorization == nil ? "MissingProviderToken" : "InvalidProviderToken"))
        }
        #expect(try sandbox.violations().count == refused.count)
        #expect(try push(authorization: "bearer " + token(issuedAt: Self.now - 3_600)).status == 200)
        #expect(
            try reason(push(authorization: "bearer " + token(issuedAt: Self.now - 3_601))) == "ExpiredProviderToken")
    }

    @Test("A request that is not HTTP/2 ends the connection")
    func version() throws {
        #expect(try push(changes: ["x-sandbox-protocol": "HTTP/1.1"]).isCut)
        #expect(try sandbox.violations() == ["http-version"])
    }

    @Test("Path, method and payload are checked as Apple's service checks them")
    func shape() throws {
        #expect(try reason(push(to: "a/b")) == "BadPath")
        #expect(try reason(push(method: "GET")) == "MethodNotAllowed")
        #expect(try reason(push(to: "xyz")) == "BadDeviceToken")
        #expect(try reason(push(to: "0a0a0a0a0")) == "BadDeviceToken", "of odd length")
        #expect(try reason(push(payload: "")) == "PayloadEmpty")
        #expect(try reason(push(payload: #"["aps"]"#)) == "PayloadEmpty")
        let empty = #"{"aps":{"alert":""}}"#.utf8.count
        let text = { (count: Int) in #"{"aps":{"alert":""# + String(repeating: "x", count: count - empty) + #""}}"# }
        #expect(try reason(push(payload: text(4_097))) == "PayloadTooLarge")
        #expect(try sandbox.violations().count == 7)
        #expect(try push(payload: text(4_096)).status == 200)
    }

    @Test("A test sets the outcome for a device: unregistered, invalid, rate limited, one environment only")
    func outcomes() throws {
        try script(["outcome": "unregistered", "sinceSecondsAgo": 60])
        let gone = try push()
        #expect(gone.status == 410)
        #expect(try reason(gone) == "Unregistered")
        #expect(try gone.json()["timestamp"]?.int == (Self.now - 60) * 1_000)

        try script(["outcome": "bad"])
        #expect(try reason(push()) == "BadDeviceToken")
        try script(["outcome": "rateLimited"])
        #expect(try push().status == 429)
        try script(["environment": "sandbox"])
        #expect(try reason(push()) == "BadDeviceToken")
        #expect(try push(host: "api.sandbox.push.apple.com").status == 200)

        #expect(try sandbox.pushes(to: Self.device).count == 1)
        #expect(try sandbox.violations() == [])
        #expect(sandbox.send("POST", "/sandbox/push-tokens", json: ["token": "a", "outcome": "odd"]).status == 400)
    }
}
