import HTTPTransport
import UntrustedInput

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
