internal import HTTPTransport
internal import HTTPTypes
public import JSONWebTokens
public import SyncProtocol

/// Apple Push Notification service, over HTTP/2, with a provider token.
///
/// https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
public struct APNs: PushService {
    /// Largest payload of an alert, in bytes.
    static let maximumPayloadBytes = 4_096

    private let topic: String
    private let environment: PushNotificationEnvironment
    private let token: ProviderToken

    /// - Parameters:
    ///   - teamID: the developer team's, ten characters.
    ///   - keyID: that of `key`, ten characters.
    ///   - topic: the app's bundle identifier.
    ///   - environment: for devices that have not reported theirs.
    ///   - now: seconds since 1970.
    public init(
        teamID: String, keyID: String, key: SigningKey, topic: String, environment: PushNotificationEnvironment,
        now: @escaping @Sendable () -> Int64
    ) {
        self.topic = topic
        self.environment = environment
        token = ProviderToken(teamID: teamID, keyID: keyID, key: key, now: now)
    }

    /// Whether a text can be a device token: hexadecimal digits, of no fixed length.
    public static func isDeviceToken(_ text: String) -> Bool {
        (2...512).contains(text.utf8.count) && text.utf8.count % 2 == 0
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
            }
    }

    public func deliver(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> PushAddress {
        var address = address
        let first = address.environment ?? environment
        do {
            try send(notification, to: address.token, in: first, through: client)
            address.environment = first
        } catch .gone(since: nil) where address.environment == nil {
            // A token of the other environment is "bad" here. The other one is asked only if the environment is
            // unknown.
            let second: PushNotificationEnvironment = first == .production ? .sandbox : .production
            try send(notification, to: address.token, in: second, through: client)
            address.environment = second
        }
        return address
    }

    private func send(
        _ notification: PushNotification, to deviceToken: String, in environment: PushNotificationEnvironment,
        through client: PushClient
    ) throws(PushError) {
        let authorization = try token.current()
        switch APNsReply(try client.send(request(notification, deviceToken, environment, authorization))) {
        case .delivered: return
        case .failed(let error): throw error
        case .tokenExpired:
            let renewed = try token.replacement(for: authorization)
            switch APNsReply(try client.send(request(notification, deviceToken, environment, renewed))) {
            case .delivered: return
            case .failed(let error): throw error
            case .tokenExpired: throw .misconfigured(detail: "ExpiredProviderToken; is the clock right?")
            }
        }
    }

    private func request(
        _ notification: PushNotification, _ deviceToken: String, _ environment: PushNotificationEnvironment,
        _ authorization: String
    ) -> OutgoingRequest {
        let host =
            switch environment {
            case .production: "api.push.apple.com"
            case .sandbox: "api.sandbox.push.apple.com"
            }
        var headers: HTTPFields = [.authorization: "bearer " + authorization, .contentType: "application/json"]
        headers[.apnsTopic] = topic
        headers[.apnsPushType] = "alert"
        headers[.apnsPriority] = "10"
        headers[.apnsExpiration] = String(notification.expiresAt)
        headers[.apnsID] = notification.id
        // A repeated notification replaces the first one on the screen instead of appearing beside it.
        headers[.apnsCollapseID] = notification.id
        var request = OutgoingRequest(
            .apns, .push, .post, "https://\(host)/3/device/\(PercentEncoding.encode(deviceToken))", headers: headers,
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

extension HTTPField.Name {
    static let apnsTopic = Self("apns-topic")!
    static let apnsPushType = Self("apns-push-type")!
    static let apnsPriority = Self("apns-priority")!
    static let apnsExpiration = Self("apns-expiration")!
    static let apnsID = Self("apns-id")!
    static let apnsCollapseID = Self("apns-collapse-id")!
}
