import HTTPTransport
import HTTPTypes
public import SyncProtocol

/// Amazon Simple Notification Service, which forwards notifications to Apple's service, as the predecessor server did.
///
/// Each user has a topic named after the user's number; each device is a platform endpoint subscribed to that topic.
/// Interface version 2010-03-31: https://docs.aws.amazon.com/sns/latest/api/API_Operations.html
public struct SNS: PushService {
    private static let version = "2010-03-31"

    private let host: String
    private let platformApplicationARN: String
    private let signature: SignatureV4
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - region: such as `us-west-2`.
    ///   - platformApplicationARN: the app as registered with SNS, including Apple's credentials for it.
    ///   - now: seconds since 1970.
    public init(
        accessKeyID: String, secretKey: String, region: String, platformApplicationARN: String,
        now: @escaping @Sendable () -> Int64
    ) {
        host = "sns.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
        self.platformApplicationARN = platformApplicationARN
        signature = SignatureV4(accessKeyID: accessKeyID, secretKey: secretKey, region: region, service: "sns")
        self.now = now
    }

    /// Publishes to a user's topic, whose ARN is the address.
    public func deliver(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> PushAddress {
        _ = try call(
            "Publish",
            [
                (name: "TopicArn", value: address.token), (name: "MessageStructure", value: "json"),
                (name: "Message", value: Self.message(notification.text)),
            ], through: client)
        return address
    }

    // MARK: Devices

    /// What a device's registration creates in SNS.
    public struct Subscription: Equatable, Sendable {
        public var endpointARN: String
        public var topicARN: String
        public var subscriptionARN: String
    }

    /// Subscribes a device to its user's topic; idempotent.
    public func subscribe(
        deviceToken: String, of userID: UserID, through client: PushClient
    ) throws(PushError) -> Subscription {
        let endpointARN = try endpoint(deviceToken, through: client)
        let topicARN = try call("CreateTopic", [(name: "Name", value: "\(userID.rawValue)")], through: client)
            .required("TopicArn")
        let subscriptionARN = try call(
            "Subscribe",
            [
                (name: "TopicArn", value: topicARN), (name: "Protocol", value: "application"),
                (name: "Endpoint", value: endpointARN),
            ], through: client
        ).required("SubscriptionArn")
        return Subscription(endpointARN: endpointARN, topicARN: topicARN, subscriptionARN: subscriptionARN)
    }

    /// The device's endpoint: created, or found and re-enabled if SNS had disabled it.
    private func endpoint(_ deviceToken: String, through client: PushClient) throws(PushError) -> String {
        let attributes: [(name: String, value: String)] = [
            (name: "Attributes.entry.1.key", value: "Enabled"), (name: "Attributes.entry.1.value", value: "true"),
        ]
        let application = [
            (name: "PlatformApplicationArn", value: platformApplicationARN), (name: "Token", value: deviceToken),
        ]
        let answer = try send("CreatePlatformEndpoint", application + attributes, through: client)
        let created: SNSReply
        do throws(SNSFailure) { created = try SNSReply(answer) } catch {
            guard let existing = error.existingEndpointARN else { throw error.pushError }
            let token = [
                (name: "Attributes.entry.2.key", value: "Token"),
                (name: "Attributes.entry.2.value", value: deviceToken),
            ]
            _ = try call(
                "SetEndpointAttributes", [(name: "EndpointArn", value: existing)] + attributes + token,
                through: client)
            return existing
        }
        return try created.required("EndpointArn")
    }

    /// Unsubscribes a device from a topic; does nothing if it is not subscribed.
    public func unsubscribe(_ subscriptionARN: String, through client: PushClient) throws(PushError) {
        do {
            _ = try call("Unsubscribe", [(name: "SubscriptionArn", value: subscriptionARN)], through: client)
        } catch .gone {}
    }

    /// Removes a topic with its subscriptions; does nothing if the topic does not exist.
    public func deleteTopic(_ topicARN: String, through client: PushClient) throws(PushError) {
        do { _ = try call("DeleteTopic", [(name: "TopicArn", value: topicARN)], through: client) } catch .gone {}
    }

    // MARK: Requests

    private func call(
        _ action: String, _ fields: [(name: String, value: String)], through client: PushClient
    ) throws(PushError) -> SNSReply {
        let reply = try send(action, fields, through: client)
        do throws(SNSFailure) { return try SNSReply(reply) } catch { throw error.pushError }
    }

    private func send(
        _ action: String, _ fields: [(name: String, value: String)], through client: PushClient
    ) throws(PushError) -> Reply {
        var request = OutgoingRequest.form(
            .sns, .push, "https://\(host)/",
            [(name: "Action", value: action), (name: "Version", value: Self.version)] + fields)
        request.replyLimitBytes = 64 * 1024
        request.headers[.contentType] = "application/x-www-form-urlencoded; charset=utf-8"
        signature.sign(&request, payloadHash: SignatureV4.payloadHash(of: request.body?.bytes ?? []), at: now())
        return try client.send(request)
    }

    /// One object with a string per kind of recipient; each string is itself a serialized JSON object.
    static func message(_ text: String) -> String {
        let payload = String(decoding: APNs.payload(text), as: UTF8.self)
        var writer = JSONWriter(reservingBytes: payload.utf8.count * 3 + 64)
        writer.object { writer in
            writer.field("APNS_SANDBOX", text: payload)
            writer.field("APNS", text: payload)
            writer.field("default", text: payload)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// A reply from SNS: XML, from which we read individual elements.
///
/// https://docs.aws.amazon.com/sns/latest/api/Welcome.html
struct SNSReply {
    private let text: String

    /// - Throws: ``PushError`` if the reply is an error other than an ``EndpointExists``.
    init(_ reply: Reply) throws(SNSFailure) {
        text = String(decoding: reply.body, as: UTF8.self)
        guard reply.status != 200 else { return }
        throw SNSFailure(
            status: reply.status, code: element("Code") ?? "", message: element("Message") ?? "",
            retryAfter: reply.head.retryAfter)
    }

    /// The text of the first element with this name, or `nil`.
    func element(_ name: String) -> String? {
        guard let start = text.firstRange(of: "<\(name)>"),
            let end = text[start.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        return Self.unescaped(text[start.upperBound..<end.lowerBound])
    }

    /// The text of a required element.
    func required(_ name: String) throws(PushError) -> String {
        guard let value = element(name), !value.isEmpty, value.utf8.count <= 512, value.utf8.allSatisfy({ $0 < 0x7F })
        else { throw .unavailable(detail: "no \(name) in the reply") }
        return value
    }

    /// The five entities that XML defines without a document type (XML 1.0, section 4.6).
    private static func unescaped(_ text: Substring) -> String {
        var result = String(text)
        for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")] {
            result = result.split(separator: entity, omittingEmptySubsequences: false).joined(separator: character)
        }
        return result
    }
}

/// An error reported by SNS.
struct SNSFailure: Error {
    var status: Int
    /// The error code, such as `InvalidParameter`.
    var code: String
    /// SNS's own message; not for logs, since it quotes the request.
    var message: String
    var retryAfter: Duration?

    /// The device's ARN if SNS reports that the token is already registered with other attributes.
    ///
    /// The message is `Invalid parameter: Token Reason: Endpoint arn:… already exists with the same Token, but
    /// different attributes.` The mobile push documentation tells applications to extract the ARN from it.
    var existingEndpointARN: String? {
        guard code == "InvalidParameter", message.contains("already exists with the same Token"),
            let start = message.firstRange(of: "Endpoint arn:")
        else { return nil }
        return String(message[start.lowerBound...].dropFirst("Endpoint ".count).prefix { $0 != " " })
    }

    /// Maps the error codes in https://docs.aws.amazon.com/sns/latest/api/CommonErrors.html and on each action's page.
    var pushError: PushError {
        let word = PushError.word(code)
        switch code {
        case "EndpointDisabled", "NotFound", "NotFoundException": return .gone(since: nil)
        case "Throttled", "Throttling", "ThrottlingException", "KMSThrottling":
            return .rateLimited(retryAfter: retryAfter)
        case "InvalidParameter", "InvalidParameterValue", "ValidationError": return .rejected(detail: word)
        default: break
        }
        switch status {
        case 429: return .rateLimited(retryAfter: retryAfter)
        case 500...: return .unavailable(detail: "status \(status) \(word)")
        default: return .misconfigured(detail: "status \(status) \(word)")
        }
    }
}
