import SyncProtocol

extension EndpointDescription {
    private static let longLivedToken: [String: JSON] = [
        ResponseHeader.accessToken.rawValue: [
            "description": "Facebook: a longer-lived token to use from now on.", "schema": Schemas.text,
        ]
    ]

    static let healthCheck = EndpointDescription(
        summary: "Says whether the server and its database work.", parameters: HealthCheckRequest.parameters,
        reply: Schemas.object(
            [
                "currentServerDateTime": Schemas.date, "serverUptime": ["type": "number", "exclusiveMinimum": 0],
                "deployedGitTag": Schemas.version,
            ], optional: ["diagnostics": Schemas.text]))

    static let checkCreds = EndpointDescription(
        summary: "Checks the caller's credentials and stores or exchanges tokens.",
        parameters: CheckCredsRequest.parameters, reply: Schemas.reference("UserID"), errors: ErrorCode.exchange,
        replyHeaders: longLivedToken)

    static let addUser = EndpointDescription(
        summary: "Creates a user with an owning account, and their first sharing group.",
        parameters: AddUserRequest.parameters, reply: Schemas.reference("UserID"),
        errors: ErrorCode.exchange.union([.userExists, .groupExists, .owningAccountRequired, .quotaGroupRate]))

    static let removeUser = EndpointDescription(
        summary: "Removes the caller. Files that the caller owns are listed as deleted; their bytes stay.",
        parameters: RemoveUserRequest.parameters, reply: Schemas.empty)

    static let registerPushNotificationToken = EndpointDescription(
        summary: "Registers the device for push notifications.",
        parameters: RegisterPushNotificationTokenRequest.parameters, reply: Schemas.empty,
        errors: [.pushNotConfigured, .pushUnavailable, .pushRefused, .pushTimeout, .quotaPushRegistrationRate])

    static let appleNotifications = EndpointDescription(
        summary: "Takes Apple's notices of people who withdraw their consent; for Apple, not for clients.",
        parameters: AppleNotificationsRequest.parameters, reply: Schemas.empty,
        body: [
            "required": true,
            "description": "A token that Apple has signed.",
            "content": ["application/json": ["schema": Schemas.object(["payload": Schemas.text])]],
        ],
        errors: [.parameterOutOfRange, .bodyLengthMismatch, .credentialsRejected, .providerUnavailable, .cloudTimeout])
}
