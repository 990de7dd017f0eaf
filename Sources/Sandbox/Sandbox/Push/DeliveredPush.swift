internal import FoundationEssentials

/// A notification that an emulated push service took, as it would appear on a device.
struct DeliveredPush: Sendable {
    /// How many are remembered: the newest.
    static let capacity = 5_000

    let time: Date
    /// `apns` or `fcm`.
    let service: String
    /// `production` or `sandbox`; APNs only.
    let environment: String?
    let token: String
    let text: String
    /// What the sender calls it: a second one of the same name takes the first one's place on the screen.
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

/// What a test wants the push services to say about a token from now on.
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
    /// The only world of APNs that knows the token; both if `nil`.
    var environment: String?
    /// When the device went away; of use with `unregistered`.
    var since: Date
}
