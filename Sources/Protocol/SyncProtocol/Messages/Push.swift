/// Registers the caller's device for push notifications.
public struct RegisterPushNotificationTokenRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.registerPushNotificationToken
    public static let parameters = ParameterList(
        required: [.pushNotificationToken],
        optional: [.pushNotificationEnvironment, .pushNotificationKind])

    /// The device's token at its push service, at most 4,096 characters.
    public let pushNotificationToken: String
    /// Whose push service; if it is not given the server decides, as it did for clients that knew only one.
    public let pushNotificationKind: PushNotificationKind?
    /// Which world of Apple's push service the token is from, if the app knows.
    public let pushNotificationEnvironment: PushNotificationEnvironment?

    /// Puts a request together.
    public init(
        pushNotificationToken: String, pushNotificationKind: PushNotificationKind? = nil,
        pushNotificationEnvironment: PushNotificationEnvironment? = nil
    ) {
        self.pushNotificationToken = pushNotificationToken
        self.pushNotificationKind = pushNotificationKind
        self.pushNotificationEnvironment = pushNotificationEnvironment
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        pushNotificationToken = try query.requiredText(
            .pushNotificationToken, maximumCharacters: TextLimit.pushNotificationToken)
        pushNotificationKind = try query.optional(.pushNotificationKind)
        pushNotificationEnvironment = try query.optional(.pushNotificationEnvironment)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.pushNotificationToken, pushNotificationToken)
        encoder.add(.pushNotificationKind, pushNotificationKind)
        encoder.add(.pushNotificationEnvironment, pushNotificationEnvironment)
    }
}

/// Whose push service a device listens to.
public enum PushNotificationKind: String, Sendable, Hashable, CaseIterable, QueryValue {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.pushNotificationKind
}

/// Which of its two worlds a token of the Apple Push Notification service is from; the other one does not know it.
public enum PushNotificationEnvironment: String, Sendable, Hashable, CaseIterable, QueryValue {
    /// Apps from the App Store and from TestFlight.
    case production
    /// Apps that a developer's machine has put on the device.
    case sandbox

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.pushNotificationEnvironment
}
