public import SyncProtocol

/// A service that delivers a text to people's screens.
///
/// One call is one attempt; the caller retries it, with the same ``PushNotification/id``, if the error indicates that
/// this may help. Several threads may call it at once.
public protocol PushService: Sendable {
    /// Hands a notification over to the service, which delivers it to the device as soon as it can.
    ///
    /// - Returns: the address to store: the service may have added to it.
    /// - Throws: ``PushError``.
    func deliver(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> PushAddress
}

/// The address of a device.
public struct PushAddress: Equatable, Sendable {
    /// The device's token at the service, or the ARN of an SNS topic.
    public var token: String
    /// APNs only; `nil` while it is unknown.
    public var environment: PushNotificationEnvironment?
    /// APNs only: the app to which the token belongs; `nil` while it is unknown.
    public var topic: String?

    public init(token: String, environment: PushNotificationEnvironment? = nil, topic: String? = nil) {
        self.token = token
        self.environment = environment
        self.topic = topic
    }
}
