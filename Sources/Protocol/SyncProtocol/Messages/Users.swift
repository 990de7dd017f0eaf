/// Identifies the caller; signs in an existing user.
public struct CheckCredsRequest: RequestMessage {
    public typealias Response = UserIDResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.checkCreds
    public static let fields = QueryFields(Self.init, .flag(.reportIdentity, \.reportIdentity))

    /// Whether the reply is to contain the ``AccountIdentity``.
    public let reportIdentity: Bool

    /// Creates a request.
    public init(reportIdentity: Bool = false) {
        self.reportIdentity = reportIdentity
    }
}

/// Checks whether a third-party token is valid; debug builds only.
public struct CheckPrimaryCredsRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.checkPrimaryCreds
    public static let fields = QueryFields(Self.init)

    /// A request has no parameters.
    public init() {}
}

/// Creates a user of an owning account type, and the user's first sharing group.
public struct AddUserRequest: RequestMessage {
    public typealias Response = UserIDResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.addUser
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .optionalText(.sharingGroupName, \.sharingGroupName, maximumCharacters: TextLimit.sharingGroupName),
        .optionalText(.cloudFolderName, \.cloudFolderName, maximumCharacters: TextLimit.cloudFolderName),
        .flag(.reportIdentity, \.reportIdentity),
        .flag(.acceptRetired, \.acceptRetired))

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's name, at most 255 characters; free text, need not be unique.
    public let sharingGroupName: String?
    /// Folder at the root of the user's storage, at most 256 characters. Ignored unless the account type needs one.
    public let cloudFolderName: String?
    /// Whether the reply is to contain the ``AccountIdentity``.
    public let reportIdentity: Bool
    /// Whether an account from which an identity has switched away should start over as a new identity.
    public let acceptRetired: Bool

    /// Creates a request.
    public init(
        sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil, cloudFolderName: String? = nil,
        reportIdentity: Bool = false, acceptRetired: Bool = false
    ) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
        self.cloudFolderName = cloudFolderName
        self.reportIdentity = reportIdentity
        self.acceptRetired = acceptRetired
    }
}

/// Removes the caller from the server. Files in the caller's cloud storage are kept.
public struct RemoveUserRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.removeUser
    public static let fields = QueryFields(Self.init)

    /// A request has no parameters.
    public init() {}
}

/// Contains the caller's user id; the response to CheckCreds and AddUser.
public struct UserIDResponse: ResponseMessage {
    /// The caller. Clients crash without it.
    public let userId: UserID
    /// The identity above the caller's account; nil unless the request asked for it.
    public let identity: AccountIdentity?

    /// Creates a response.
    public init(userId: UserID, identity: AccountIdentity? = nil) {
        self.userId = userId
        self.identity = identity
    }

    private enum CodingKeys: String, CodingKey {
        case userId
    }

    public init(from decoder: any Decoder) throws {
        userId = try decoder.container(keyedBy: CodingKeys.self).decode(UserID.self, forKey: .userId)
        identity = try AccountIdentity(inReply: decoder)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("userId", userId)
            identity?.writeMembers(to: &writer)
        }
    }
}

/// Apple's notification to the server that a person has withdrawn their consent or deleted their Apple account.
///
/// The body is JSON with the string `payload`, a token signed by Apple; there are no parameters.
public struct AppleNotificationsRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = AnyoneAccess
    public static let endpoint = EndpointName.appleNotifications
    public static let fields = QueryFields(Self.init)

    /// A request has no parameters.
    public init() {}
}

/// The identity above a user's account, as replies report it to clients that request it.
///
/// A person who switches accounts keeps their identity, with its files, groups and numeric user id; the epoch
/// increases.
public struct AccountIdentity: Sendable, Hashable, Decodable {
    /// The identity; never changes.
    public let userAppId: UserAppID
    /// The number of its account switches.
    public let accountEpoch: AccountEpoch
    /// A new grant for the calling device; nil if the request presented a valid one.
    public let deviceGrant: DeviceGrant?
    /// Grants issued recently, after the one that the request presented, the newest first: to other devices, or to
    /// somebody who knows this device's UUID. Empty if the request presented none.
    public let newerGrants: [NewerGrant]

    /// A recently issued grant.
    public struct NewerGrant: Sendable, Hashable, Decodable {
        /// The device that requested it.
        public let grantDeviceUUID: DeviceUUID
        /// When it was issued.
        public let issuedAt: WireDate
        /// The time after which a sign-in of its device lets it begin a switch; nil if it already can.
        public let usableFrom: WireDate?

        /// Creates a description.
        public init(grantDeviceUUID: DeviceUUID, issuedAt: WireDate, usableFrom: WireDate?) {
            self.grantDeviceUUID = grantDeviceUUID
            self.issuedAt = issuedAt
            self.usableFrom = usableFrom
        }
    }

    /// Creates the description of an identity.
    public init(
        userAppId: UserAppID, accountEpoch: AccountEpoch, deviceGrant: DeviceGrant?, newerGrants: [NewerGrant] = []
    ) {
        self.userAppId = userAppId
        self.accountEpoch = accountEpoch
        self.deviceGrant = deviceGrant
        self.newerGrants = newerGrants
    }

    private enum CodingKeys: String, CodingKey {
        case userAppId, accountEpoch, deviceGrant, newerGrants
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        userAppId = try container.decode(UserAppID.self, forKey: .userAppId)
        accountEpoch = try container.decode(AccountEpoch.self, forKey: .accountEpoch)
        deviceGrant = try container.decodeIfPresent(DeviceGrant.self, forKey: .deviceGrant)
        newerGrants = try container.decodeIfPresent([NewerGrant].self, forKey: .newerGrants) ?? []
    }

    /// Decodes the members from a reply; nil if they are missing, as from a server that does not know them.
    init?(inReply decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.contains(.userAppId) else { return nil }
        try self.init(from: decoder)
    }

    /// Writes the members into the object of a reply.
    func writeMembers(to writer: inout JSONWriter) {
        writer.field("userAppId", userAppId)
        writer.field("accountEpoch", accountEpoch)
        writer.field("deviceGrant", text: deviceGrant?.secret)
        guard !newerGrants.isEmpty else { return }
        writer.field("newerGrants", objects: newerGrants) { grant, writer in
            writer.field("grantDeviceUUID", grant.grantDeviceUUID)
            writer.field("issuedAt", grant.issuedAt)
            writer.field("usableFrom", grant.usableFrom)
        }
    }
}

/// The number of grants that a request has revoked.
public struct RevokeDeviceGrantsResponse: ResponseMessage {
    /// The number of revoked grants.
    public let numberRevoked: Int64
    /// The number of named grants that were not revoked because they are older than the one that the request presented.
    public let numberKept: Int64

    /// Creates a response.
    public init(numberRevoked: Int64, numberKept: Int64) {
        self.numberRevoked = numberRevoked
        self.numberKept = numberKept
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("numberRevoked", numberRevoked)
            writer.field("numberKept", numberKept)
        }
    }
}

/// Revokes device grants of the caller's identity: those of a lost device, or of all devices except the calling one.
///
/// The request presents the grant of its own device, which can revoke only younger ones, or a new authorization code.
public struct RevokeDeviceGrantsRequest: RequestMessage {
    public typealias Response = RevokeDeviceGrantsResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.revokeDeviceGrants
    public static let fields = QueryFields(Self.init, .optional(.grantDeviceUUID, \.grantDeviceUUID))

    /// The device; nil for all except the calling one.
    public let grantDeviceUUID: DeviceUUID?

    /// Creates a request.
    public init(grantDeviceUUID: DeviceUUID? = nil) {
        self.grantDeviceUUID = grantDeviceUUID
    }
}

/// Registers the caller's device for push notifications.
public struct RegisterPushNotificationTokenRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.registerPushNotificationToken
    public static let fields = QueryFields(
        Self.init,
        .requiredText(
            .pushNotificationToken, \.pushNotificationToken, maximumCharacters: TextLimit.pushNotificationToken),
        .optional(.pushNotificationKind, \.pushNotificationKind),
        .optional(.pushNotificationEnvironment, \.pushNotificationEnvironment))

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
