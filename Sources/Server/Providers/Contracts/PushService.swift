public import SyncProtocol

/// A service that delivers a text to people's screens.
///
/// One call is one attempt; the caller retries it, with the same ``PushNotification/id``, when the error says that this
/// may help. May be used by several threads at once.
public protocol PushService: Sendable {
    /// Hands a notification over to the service, which delivers it to the device as soon as it can.
    ///
    /// - Returns: the address as it should be remembered: the service may have found out more about it.
    /// - Throws: ``PushError``.
    func deliver(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> PushAddress
}

/// Where a notification goes.
public struct PushAddress: Equatable, Sendable {
    /// The device's token at the service, or the ARN of an SNS topic.
    public var token: String
    /// APNs only; `nil` as long as it is unknown.
    public var environment: PushNotificationEnvironment?
    /// APNs only: the app that the token belongs to; `nil` as long as it is unknown.
    public var topic: String?

    public init(token: String, environment: PushNotificationEnvironment? = nil, topic: String? = nil) {
        self.token = token
        self.environment = environment
        self.topic = topic
    }
}
