internal import HTTPTransport
internal import HTTPTypes
public import JSONWebTokens
public import SyncProtocol

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
        // A repeated notification replaces the first one on the screen instead of appearing beside it.
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
