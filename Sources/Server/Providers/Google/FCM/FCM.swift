internal import FoundationEssentials
internal import HTTPTransport
internal import HTTPTypes
internal import SyncProtocol
import UntrustedInput

/// Firebase Cloud Messaging, version 1 of its HTTP interface.
///
/// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
public struct FCM: PushService {
    /// The largest message, in bytes. Google does not document exactly what is counted, so the limit applies to the
    /// whole body.
    static let maximumBodyBytes = 4_096
    /// How long to wait after "quota exceeded" if the reply specifies no time:
    /// https://firebase.google.com/docs/cloud-messaging/scale-fcm
    private static let quotaPause: Duration = .seconds(60)

    private let url: String
    private let token: ServiceAccountToken
    private let now: @Sendable () -> Int64
    private let accepted = AcceptedMessages()

    /// - Parameter now: seconds since 1970.
    public init(account: ServiceAccount, now: @escaping @Sendable () -> Int64) {
        url = "https://fcm.googleapis.com/v1/projects/\(PercentEncoding.encode(account.projectID))/messages:send"
        token = ServiceAccountToken(of: account, now: now)
        self.now = now
    }

    public func deliver(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> PushAddress {
        let body = body(notification, to: address.token)
        let accessToken = try token.current(through: client)
        var reply = try client.send(request(body, accessToken))
        if reply.status == 401, Self.errorCode(in: reply) != "THIRD_PARTY_AUTH_ERROR" {
            reply = try client.send(request(body, try token.replacement(for: accessToken, through: client)))
        }
        switch Self.error(in: reply) {
        case nil: accepted.note(notification.event)
        case .doubtful(let detail): throw accepted.judge([notification.event], rejectedWith: detail)
        case .some(let error): throw error
        }
        return address
    }

    private func request(_ body: [UInt8], _ accessToken: String) -> OutgoingRequest {
        OutgoingRequest(
            .fcm, .push, .post, url,
            headers: [.authorization: "Bearer " + accessToken, .contentType: "application/json"],
            body: .bytes(body[...]), replyLimitBytes: 64 * 1024)
    }

    private func body(_ notification: PushNotification, to deviceToken: String) -> [UInt8] {
        let lifetime = min(max(0, notification.expiresAt - now()), 2_419_200)
        let message: (String) -> [UInt8] = { text in
            Self.message(text, id: notification.id, lifetimeSeconds: lifetime, to: deviceToken)
        }
        return message(PushText.shortened(notification.text) { message($0).count <= Self.maximumBodyBytes })
    }

    /// The body of a request. The tag makes a repeated notification replace the first one on the screen. A collapse key
    /// would not suffice, since FCM keeps notifications with only four different keys for a device that is off.
    private static func message(
        _ text: String, id: String, lifetimeSeconds: Int64, to deviceToken: String
    ) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 512)
        writer.object { writer in
            writer.key("message")
            writer.object { writer in
                writer.field("token", text: deviceToken)
                writer.key("notification")
                writer.object { $0.field("body", text: text) }
                writer.key("android")
                writer.object { writer in
                    writer.field("priority", text: "HIGH")
                    writer.field("ttl", text: "\(lifetimeSeconds)s")
                    writer.key("notification")
                    writer.object { $0.field("tag", text: id) }
                }
                writer.key("apns")
                writer.object { writer in
                    writer.key("headers")
                    writer.object { $0.field("apns-collapse-id", text: id) }
                    writer.key("payload")
                    writer.object { writer in
                        writer.key("aps")
                        writer.object { $0.field("sound", text: "default") }
                    }
                }
            }
        }
        return writer.bytes
    }

    // MARK: Replies

    private struct Body: Decodable {
        struct Failure: Decodable {
            var status: String?
            var details: [Detail]?
        }
        struct Detail: Decodable {
            var errorCode: String?
        }
        var error: Failure?
    }

    private static func body(of reply: Reply) -> Body? { try? UntrustedJSON.decode(Body.self, from: reply.body) }

    /// FCM's own error code, if the reply has one.
    private static func errorCode(in reply: Reply) -> String? {
        body(of: reply)?.error?.details?.lazy.compactMap(\.errorCode).first
    }

    /// The error; `nil` if the reply is a success. https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
    static func error(in reply: Reply) -> PushError? {
        if reply.status == 200 { return nil }
        let code = errorCode(in: reply)
        let word = PushError.word(code ?? body(of: reply)?.error?.status)
        switch (reply.status, code) {
        case (404, "UNREGISTERED"): return .gone(since: nil)
        // FCM rejects the token or a part of the message.
        case (400, "INVALID_ARGUMENT"): return .doubtful(detail: "status 400 \(word)")
        case (401, _), (403, _), (404, _): return .misconfigured(detail: "status \(reply.status) \(word)")
        case (429, _): return .rateLimited(retryAfter: reply.head.retryAfter ?? quotaPause)
        case (503, _) where reply.head.retryAfter != nil: return .rateLimited(retryAfter: reply.head.retryAfter)
        case (500..., _): return .unavailable(detail: "status \(reply.status) \(word)")
        default: return .rejected(detail: "status \(reply.status) \(word)")
        }
    }
}
