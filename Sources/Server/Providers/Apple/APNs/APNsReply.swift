import HTTPTransport
import UntrustedInput

/// What a reply from APNs means.
///
/// https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
enum APNsReply: Equatable {
    case delivered
    /// The provider token, not the notification, is at fault: retry with a new token.
    case tokenExpired
    /// The device token is of the other environment, invalid, or our settings are.
    case badDeviceToken
    /// The device token belongs to another app.
    case wrongTopic
    case failed(PushError)

    private struct Body: Decodable {
        var reason: String?
        /// With 410: when the token was found to be dead, in milliseconds since 1970.
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
