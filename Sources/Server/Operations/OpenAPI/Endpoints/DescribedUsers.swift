import SyncProtocol

extension HealthCheckRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Reports whether the server and its database work.",
        reply: Schemas.object(
            [
                "currentServerDateTime": Schemas.date, "serverUptime": ["type": "number", "exclusiveMinimum": 0],
                "deployedGitTag": Schemas.version,
                "availability": ["type": "string", "enum": ["full", "readOnly", "maintenance"]],
                "mimeTypes": Schemas.array(of: Schemas.text),
                "uploadSmallFiles": Schemas.object([
                    "maximumFiles": Schemas.int64, "maximumFileBytes": Schemas.int64,
                    "maximumBodyBytes": Schemas.int64,
                ]),
            ], optional: ["diagnostics": Schemas.text]))
}

extension CheckCredsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Checks the caller's credentials and stores or exchanges tokens.", reply: Schemas.reference("UserID"),
        errors: ErrorCode.exchange,
        replyHeaders: [
            ResponseHeader.accessToken.rawValue: [
                "description": "Facebook: a long-lived token to use from now on.", "schema": Schemas.text,
            ]
        ], requestHeaders: IdentityHeaders.grant)
}

extension AddUserRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Creates a user with an owning account, and their first sharing group.",
        reply: Schemas.reference("UserID"),
        errors: ErrorCode.exchange.union([
            .userExists, .groupExists, .owningAccountRequired, .quotaGroupRate, .cloudRefused, .accountRetired,
            .userUnknown,
        ]), requestHeaders: IdentityHeaders.grant)
}

extension RemoveUserRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Removes the caller. Files that the caller owns are listed as deleted; their bytes remain stored.",
        reply: Schemas.empty)
}

extension RegisterPushNotificationTokenRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Registers the device for push notifications.", reply: Schemas.empty,
        errors: [.pushNotConfigured, .pushUnavailable, .pushRefused, .pushTimeout, .quotaPushRegistrationRate])
}

extension AppleNotificationsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Receives Apple's notifications of people who withdraw their consent; for Apple, not for clients.",
        reply: Schemas.empty,
        body: [
            "required": true,
            "description": "A token signed by Apple.",
            "content": ["application/json": ["schema": Schemas.object(["payload": Schemas.text])]],
        ],
        errors: [
            .parameterOutOfRange, .bodyLengthMismatch, .credentialsRejected, .providerUnavailable, .providerPaused,
            .providerBusy, .providerCircuitOpen, .cloudTimeout,
        ])
}
