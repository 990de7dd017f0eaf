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
