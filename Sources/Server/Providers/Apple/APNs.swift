import HTTPTransport
import HTTPTypes
public import JSONWebTokens
public import SyncProtocol
import Synchronization
import UntrustedInput

/// Apple Push Notification service, over HTTP/2, authenticated by a provider token.
///
/// https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
public struct APNs: PushService {
    /// The largest payload of an alert, in bytes.
    static let maximumPayloadBytes = 4_096

    private let topics: [String]
    private let environment: PushNotificationEnvironment
    private let token: ProviderToken
    private let accepted = AcceptedMessages()

    /// - Parameters:
    ///   - teamID: the developer team's ID, ten characters.
    ///   - keyID: the ID of `key`, ten characters.
    ///   - topics: the apps' bundle identifiers, at least one.
    ///   - environment: for devices that have not reported their own.
    ///   - now: seconds since 1970.
    public init(
        teamID: String, keyID: String, key: SigningKey, topics: [String], environment: PushNotificationEnvironment,
        now: @escaping @Sendable () -> Int64
    ) {
        self.topics = topics
        self.environment = environment
        token = ProviderToken(teamID: teamID, keyID: keyID, key: key, now: now)
    }

    /// Whether `text` can be a device token: hexadecimal digits, of no fixed length.
    public static func isDeviceToken(_ text: String) -> Bool {
        (2...512).contains(text.utf8.count) && text.utf8.count % 2 == 0
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
            }
    }

    /// Tries both environments for a device whose environment is unknown, and every topic for a device whose app is
    /// unknown.
    public func deliver(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> PushAddress {
        let environments = address.environment.map { [$0] } ?? [environment, environment.other]
        var isOfOtherApp = false
        for environment in environments {
            topics: for topic in address.topic.map({ [$0] }) ?? topics {
                let used = PushAddress(token: address.token, environment: environment, topic: topic)
                switch try send(notification, to: used, through: client) {
                case .delivered:
                    accepted.note(Self.message(notification, in: environment))
                    return used
                case .wrongTopic: isOfOtherApp = true
                // In this environment, a token of the other one is "bad" whatever the topic.
                case .badDeviceToken: break topics
                case .failed(let error): throw error
                case .tokenExpired: throw .misconfigured(detail: "ExpiredProviderToken; is the clock right?")
                }
            }
        }
        if isOfOtherApp { throw .misconfigured(detail: "DeviceTokenNotForTopic") }
        throw accepted.judge(
            environments.map { Self.message(notification, in: $0) }, rejectedWith: "BadDeviceToken")
    }

    private static func message(
        _ notification: PushNotification, in environment: PushNotificationEnvironment
    ) -> String {
        "\(environment) \(notification.event)"
    }

    private func send(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> APNsReply {
        let authorization = try token.current()
        let reply = APNsReply(try client.send(request(notification, address, authorization)))
        guard reply == .tokenExpired else { return reply }
        let renewed = try token.replacement(for: authorization)
        return APNsReply(try client.send(request(notification, address, renewed)))
    }

    private func request(
        _ notification: PushNotification, _ address: PushAddress, _ authorization: String
    ) -> OutgoingRequest {
        let host = address.environment == .sandbox ? "api.sandbox.push.apple.com" : "api.push.apple.com"
        var headers: HTTPFields = [.authorization: "bearer " + authorization, .contentType: "application/json"]
        headers[.apnsTopic] = address.topic
        headers[.apnsPushType] = "alert"
        headers[.apnsPriority] = "10"
        headers[.apnsExpiration] = String(notification.expiresAt)
        headers[.apnsID] = notification.id
        // A repeated notification replaces the first one on the screen instead of appearing in addition to it.
        headers[.apnsCollapseID] = notification.id
        var request = OutgoingRequest(
            .apns, .push, .post, "https://\(host)/3/device/\(PercentEncoding.encode(address.token))", headers: headers,
            body: .bytes(Self.payload(notification.text)[...]), replyLimitBytes: 64 * 1024)
        request.requiresHTTP2 = true
        return request
    }

    /// The payload, with its text shortened if necessary.
    static func payload(_ text: String) -> [UInt8] {
        alert(PushText.shortened(text) { alert($0).count <= maximumPayloadBytes })
    }

    /// `{"aps": {"alert": …, "sound": "default"}}`.
    static func alert(_ text: String) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 256)
        writer.object { writer in
            writer.key("aps")
            writer.object { writer in
                writer.field("alert", text: text)
                writer.field("sound", text: "default")
            }
        }
        return writer.bytes
    }
}

extension PushNotificationEnvironment {
    fileprivate var other: PushNotificationEnvironment { self == .production ? .sandbox : .production }
}

extension HTTPField.Name {
    static let apnsTopic = Self("apns-topic")!
    static let apnsPushType = Self("apns-push-type")!
    static let apnsPriority = Self("apns-priority")!
    static let apnsExpiration = Self("apns-expiration")!
    static let apnsID = Self("apns-id")!
    static let apnsCollapseID = Self("apns-collapse-id")!
}

/// The meaning of a reply from APNs.
///
/// https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
enum APNsReply: Equatable {
    case delivered
    /// APNs rejects the provider token, not the notification: retry with a new token.
    case tokenExpired
    /// The device token belongs to the other environment or is invalid, or our settings are wrong.
    case badDeviceToken
    /// The device token belongs to another app.
    case wrongTopic
    case failed(PushError)

    private struct Body: Decodable {
        var reason: String?
        /// With status 410: when APNs found that the token was no longer valid, in milliseconds since 1970.
        var timestamp: Int64?
    }

    init(_ reply: Reply) {
        guard reply.status != 200 else {
            self = .delivered
            return
        }
        let body = try? UntrustedJSON.decode(Body.self, from: reply.body)
        let word = PushError.word(body?.reason)
        switch (reply.status, body?.reason) {
        case (410, _): self = .failed(.gone(since: body?.timestamp.map { $0 / 1_000 }))
        case (400, "BadDeviceToken"): self = .badDeviceToken
        case (400, "DeviceTokenNotForTopic"): self = .wrongTopic
        case (400, "IdleTimeout"): self = .failed(.unavailable(detail: word))
        case (400, "BadTopic"), (400, "MissingTopic"), (400, "TopicDisallowed"):
            self = .failed(.misconfigured(detail: word))
        case (403, "ExpiredProviderToken"): self = .tokenExpired
        case (401, _), (403, _): self = .failed(.misconfigured(detail: word))
        case (429, _): self = .failed(.rateLimited(retryAfter: reply.head.retryAfter))
        case (500..., _): self = .failed(.unavailable(detail: "status \(reply.status) \(word)"))
        default: self = .failed(.rejected(detail: "status \(reply.status) \(word)"))
        }
    }
}

/// Authenticates the sender to APNs with a signed token, which is reused while it is valid.
///
/// Apple accepts a new token at most every 20 minutes and rejects tokens older than an hour:
/// https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns
final class ProviderToken: Sendable {
    /// How long a token is used, in seconds.
    static let lifetimeSeconds: Int64 = 45 * 60
    /// The minimum age of a token, in seconds, before it may be replaced; a more frequent change makes Apple reply with
    /// 429 (TooManyProviderTokenUpdates).
    static let minimumAgeSeconds: Int64 = 20 * 60

    private struct Issued {
        var text: String
        var issuedAt: Int64
    }

    private let teamID: String
    private let keyID: String
    private let key: SigningKey
    private let now: @Sendable () -> Int64
    private let issued = Mutex<Issued?>(nil)

    init(teamID: String, keyID: String, key: SigningKey, now: @escaping @Sendable () -> Int64) {
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
        self.now = now
    }

    /// The current token.
    func current() throws(PushError) -> String {
        let time = now()
        return try issued.withLock { issued throws(PushError) in
            if let issued, (0..<Self.lifetimeSeconds).contains(time - issued.issuedAt) { return issued.text }
            let new = try sign(at: time)
            issued = new
            return new.text
        }
    }

    /// Replaces a token that APNs reports as expired; another thread may have done so already.
    /// - Throws: ``PushError/misconfigured(detail:)`` if the token is so recent that the clocks must differ; a new
    ///   token would not help.
    func replacement(for expired: String) throws(PushError) -> String {
        let time = now()
        let isTooYoung = issued.withLock { issued in
            guard let known = issued, known.text == expired else { return false }
            guard time - known.issuedAt >= Self.minimumAgeSeconds else { return true }
            issued = nil
            return false
        }
        guard !isTooYoung else { throw .misconfigured(detail: "ExpiredProviderToken; is the clock right?") }
        return try current()
    }

    private func sign(at time: Int64) throws(PushError) -> Issued {
        let claims = Claims(iss: teamID, iat: time - JSONWebToken.clockAllowanceSeconds)
        do {
            return Issued(text: try JSONWebToken.signed(claims, keyID: keyID, with: key), issuedAt: time)
        } catch {
            throw .misconfigured(detail: "the key cannot sign")
        }
    }

    private struct Claims: Encodable {
        let iss: String
        let iat: Int64
    }
}
