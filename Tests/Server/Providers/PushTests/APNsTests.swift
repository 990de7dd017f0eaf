import HTTPTransport
import HTTPTypes
import JSONWebTokens
import OpenSSLCrypto
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import Providers

@Suite("Apple Push Notification service")
struct APNsTests {
    private let clock = Clock()
    private let key: PrivateKey

    private final class Clock: Sendable {
        let seconds = Atomic<Int64>(1_800_000_000)
    }

    init() throws { key = try PrivateKey(generating: .es256) }

    private func service(_ environment: PushNotificationEnvironment = .production) throws -> APNs {
        APNs(
            teamID: "TEAM567890", keyID: "KEY4567890", key: try SigningKey(es256PEM: key.pem),
            topics: ["com.example.app", "com.example.second"], environment: environment,
            now: { [clock] in clock.seconds.load(ordering: .relaxed) })
    }

    private static let notification = PushNotification(
        origin: "1", event: "1", text: "Hi", expiresAt: 1_800_086_400)

    @discardableResult
    private func deliver(
        _ replies: Reply..., by service: APNs? = nil, environment: PushNotificationEnvironment? = .production,
        of event: String = "1"
    ) throws -> (address: PushAddress, requests: [OutgoingRequest]) {
        let script = ScriptedTransport(replies: replies)
        var notification = Self.notification
        notification.event = event
        let address = try (service ?? self.service()).deliver(
            notification, to: PushAddress(token: "0a1b", environment: environment),
            through: PushClient(transport: script.transport, deadline: .after(.seconds(10))))
        return (address, script.requests)
    }

    private func failure(_ replies: Reply..., environment: PushNotificationEnvironment? = .production) throws
        -> PushError?
    {
        let script = ScriptedTransport(replies: replies)
        let service = try service()
        do {
            _ = try service.deliver(
                Self.notification, to: PushAddress(token: "0a1b", environment: environment),
                through: PushClient(transport: script.transport, deadline: .after(.seconds(10))))
            return nil
        } catch { return error }
    }

    @Test("A request has the form that Apple documents: HTTP/2, path, headers and payload")
    func request() throws {
        let request = try #require(try deliver(Reply(200)).requests.first)
        #expect(request.method == .post)
        #expect(request.url == "https://api.push.apple.com/3/device/0a1b")
        #expect(request.requiresHTTP2)
        #expect(request.headers[.apnsTopic] == "com.example.app")
        #expect(request.headers[.apnsPushType] == "alert")
        #expect(request.headers[.apnsPriority] == "10")
        #expect(request.headers[.apnsExpiration] == "1800086400")
        let id = try #require(request.headers[.apnsID])
        #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        #expect(request.headers[.apnsCollapseID] == id)
        #expect(request.bodyText == #"{"aps":{"alert":"Hi","sound":"default"}}"#)
    }

    @Test(
        "A device token has an even number of hexadecimal digits",
        arguments: [
            ("0a1B", true), (String(repeating: "0", count: 512), true), (String(repeating: "0", count: 514), false),
            ("", false), ("0a1", false), ("0g", false), (" 0", false), ("0a/b", false),
        ])
    func deviceTokens(text: String, isOne: Bool) { #expect(APNs.isDeviceToken(text) == isOne) }

    @Test("The provider token is signed with the team's key, and contains issuer and time")
    func providerToken() throws {
        let request = try #require(try deliver(Reply(200)).requests.first)
        let header = try #require(request.headers[.authorization])
        #expect(header.hasPrefix("bearer "))
        let parts = header.dropFirst(7).split(separator: ".")
        try #require(parts.count == 3)
        let signature = try #require([UInt8](base64URL: parts[2]))
        #expect(try key.publicKey.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8)))
        let text: (Substring) -> String = { String(decoding: [UInt8](base64URL: $0) ?? [], as: UTF8.self) }
        #expect(text(parts[0]).contains(#""alg":"ES256","kid":"KEY4567890""#), "\(text(parts[0]))")
        // A minute ago: Apple's clock may be behind.
        #expect(text(parts[1]) == #"{"iat":1799999940,"iss":"TEAM567890"}"#)
    }

    @Test("A provider token is used for 45 minutes, then a new one")
    func reuse() throws {
        let service = try service()
        var tokens: [String] = []
        for seconds: Int64 in [0, 1_200, 1_499, 1] {
            clock.seconds.add(seconds, ordering: .relaxed)
            tokens += try deliver(Reply(200), by: service).requests.map { $0.headers[.authorization]! }
        }
        #expect(tokens.count == 4)
        #expect(Set(tokens[..<3]).count == 1)
        #expect(tokens[3] != tokens[0])
    }

    private static let expired = Reply(403, #"{"reason":"ExpiredProviderToken"}"#)
    private static let wrongClock = PushError.misconfigured(detail: "ExpiredProviderToken; is the clock right?")

    @Test("A token older than 20 minutes that Apple reports as expired is replaced once, and the push is sent again")
    func expired() throws {
        let service = try service()
        try deliver(Reply(200), by: service)
        clock.seconds.add(1_200, ordering: .relaxed)

        let requests = try deliver(Self.expired, Reply(200), by: service).requests

        #expect(requests.count == 2)
        #expect(requests[0].headers[.authorization] != requests[1].headers[.authorization])
        #expect(requests[0].headers[.apnsID] == requests[1].headers[.apnsID])
        #expect(throws: Self.wrongClock) { try deliver(Self.expired, by: service) }
    }

    @Test("A younger token that Apple reports as expired is kept: Apple limits new ones")
    func tooYoung() throws {
        let service = try service()
        let first = try deliver(Reply(200), by: service).requests[0].headers[.authorization]
        clock.seconds.add(1_199, ordering: .relaxed)

        #expect(throws: Self.wrongClock) { try deliver(Self.expired, by: service) }

        #expect(try deliver(Reply(200), by: service).requests[0].headers[.authorization] == first)
    }

    @Test(
        "Each answer has the meaning that Apple documents",
        arguments: [
            (400, #"{"reason":"BadDeviceToken"}"#, PushError.doubtful(detail: "BadDeviceToken")),
            (410, #"{"reason":"Unregistered","timestamp":1799999999999}"#, .gone(since: 1_799_999_999)),
            (410, #"{"reason":"ExpiredToken"}"#, .gone(since: nil)),
            (400, #"{"reason":"BadTopic"}"#, .misconfigured(detail: "BadTopic")),
            (400, #"{"reason":"BadPriority"}"#, .rejected(detail: "status 400 BadPriority")),
            (400, #"{"reason":"IdleTimeout"}"#, .unavailable(detail: "IdleTimeout")),
            (403, #"{"reason":"InvalidProviderToken"}"#, .misconfigured(detail: "InvalidProviderToken")),
            (413, #"{"reason":"PayloadTooLarge"}"#, .rejected(detail: "status 413 PayloadTooLarge")),
            (429, #"{"reason":"TooManyRequests"}"#, .rateLimited(retryAfter: nil)),
            (503, #"{"reason":"Shutdown"}"#, .unavailable(detail: "status 503 Shutdown")),
            (502, "<html>secret words</html>", .unavailable(detail: "status 502 no reason")),
            (400, #"{"reason":"quotes what was sent"}"#, .rejected(detail: "status 400 no reason")),
        ])
    func answers(status: Int, body: String, error: PushError) throws {
        #expect(try failure(Reply(status, body)) == error)
    }

    @Test("A device with an unknown environment is tried in both; a device with a known one only there")
    func worlds() throws {
        let bad = Reply(400, #"{"reason":"BadDeviceToken"}"#)
        let (address, requests) = try deliver(bad, Reply(200), environment: nil)
        #expect(address.environment == .sandbox)
        #expect(requests.last?.url == "https://api.sandbox.push.apple.com/3/device/0a1b")
        #expect(try failure(bad, bad, environment: nil) == .doubtful(detail: "BadDeviceToken"))
        #expect(try failure(bad, Reply(200), environment: .production) == .doubtful(detail: "BadDeviceToken"))
        #expect(try deliver(Reply(200), environment: .sandbox).requests[0].url.contains("api.sandbox.push.apple.com"))
    }

    @Test("A token counts as bad only if another device in its environment has accepted the same message")
    func doubt() throws {
        let bad = Reply(400, #"{"reason":"BadDeviceToken"}"#)
        let service = try service()
        #expect(throws: PushError.doubtful(detail: "BadDeviceToken")) { try deliver(bad, by: service) }
        try deliver(Reply(200), by: service)
        #expect(throws: PushError.gone(since: nil)) { try deliver(bad, by: service) }
        for (event, environment) in [("2", .production), ("1", .sandbox)] as [(String, PushNotificationEnvironment)] {
            #expect(throws: PushError.doubtful(detail: "BadDeviceToken")) {
                try deliver(bad, by: service, environment: environment, of: event)
            }
        }
    }

    @Test("A device is notified with its app's topic, which is determined once; devices of other apps are kept")
    func topics() throws {
        let other = Reply(400, #"{"reason":"DeviceTokenNotForTopic"}"#)
        let (address, requests) = try deliver(other, Reply(200))
        #expect(requests.map { $0.headers[.apnsTopic] } == ["com.example.app", "com.example.second"])
        #expect(address == PushAddress(token: "0a1b", environment: .production, topic: "com.example.second"))

        let bad = Reply(400, #"{"reason":"BadDeviceToken"}"#)
        let found = try deliver(bad, other, Reply(200), environment: nil)
        #expect(found.address.environment == .sandbox && found.address.topic == "com.example.second")

        let wrong = PushError.misconfigured(detail: "DeviceTokenNotForTopic")
        #expect(try failure(other, other) == wrong)
        #expect(try failure(other, other, other, other, environment: nil) == wrong)
    }

    @Test("A payload never exceeds 4,096 bytes, however much of its text must be escaped")
    func payload() {
        for text in [String(repeating: "\u{1}", count: 3_900), String(repeating: "👨‍👩‍👧‍👦", count: 400)] {
            let payload = APNs.payload(text)
            #expect(payload.count <= 4_096)
            #expect(payload.count > 4_096 - 60)
            #expect(String(decoding: payload, as: UTF8.self).contains("…\",\"sound\""))
        }
        #expect(APNs.payload("short") == APNs.alert("short"))
    }

    @Test("The same work has the same identifier, and other work another")
    func identifiers() {
        let id = PushNotification(origin: "1", event: "1", text: "a", expiresAt: 0).id
        #expect(PushNotification(origin: "1", event: "2", text: "b", expiresAt: 1).id == id)
        #expect(PushNotification(origin: "2", event: "1", text: "a", expiresAt: 0).id != id)
    }
}
