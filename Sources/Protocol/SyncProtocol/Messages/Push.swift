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
    /// The push service; if missing, the server decides, as it did for clients that knew only one.
    public let pushNotificationKind: PushNotificationKind?
    /// The environment of Apple's push service that issued the token, if the app knows it.
    public let pushNotificationEnvironment: PushNotificationEnvironment?

    /// Creates a request.
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

/// The push service that a device uses.
public enum PushNotificationKind: String, Sendable, Hashable, CaseIterable, QueryValue {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.pushNotificationKind
}

/// The environment of the Apple Push Notification service that issued a token; the other environment does not know the
/// token.
public enum PushNotificationEnvironment: String, Sendable, Hashable, CaseIterable, QueryValue {
    /// Apps from the App Store and from TestFlight.
    case production
    /// Apps installed from a developer's machine.
    case sandbox

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.pushNotificationEnvironment
}
