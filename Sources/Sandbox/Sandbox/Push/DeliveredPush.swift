internal import FoundationEssentials

/// A notification accepted by an emulated push service, as it would appear on a device.
struct DeliveredPush: Sendable {
    /// The maximum number of notifications kept, the newest ones.
    static let capacity = 5_000

    let time: Date
    /// `apns` or `fcm`.
    let service: String
    /// `production` or `sandbox`; APNs only.
    let environment: String?
    let token: String
    let text: String
    /// The sender's identifier: a second notification with the same one replaces the first on the screen.
    let id: String

    var json: JSONValue {
        var members: JSONObject = ["time": time.json, "service": .string(service)]
        members["environment"] = .string(environment)
        members["token"] = .string(token)
        members["text"] = .string(text)
        members["id"] = .string(id)
        return .object(members)
    }
}

/// How the push services respond to a token from now on, set by a test.
struct PushTokenScript: Sendable, Equatable {
    enum Outcome: String, Sendable, CaseIterable {
        /// The token works.
        case delivered
        /// The app was removed from the device.
        case unregistered
        /// The service has never seen the token.
        case bad
        /// Too many notifications for this device.
        case rateLimited
    }

    var outcome = Outcome.delivered
    /// The only APNs environment that knows the token; `nil` for both.
    var environment: String?
    /// The app at Apple to which the token belongs; `nil` for the main one.
    var topic: String?
    /// When the device was unregistered; only used with `unregistered`.
    var since: Date
}
