/// Registers the caller's device for push notifications.
public struct RegisterPushNotificationTokenRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public static let endpoint = EndpointName.registerPushNotificationToken
    public static let parameters = ParameterList(required: [.pushNotificationToken])

    /// The device token of the Apple Push Notification service.
    public let pushNotificationToken: String

    /// Puts a request together.
    public init(pushNotificationToken: String) {
        self.pushNotificationToken = pushNotificationToken
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        pushNotificationToken = try query.required(.pushNotificationToken)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.pushNotificationToken, pushNotificationToken)
    }
}
