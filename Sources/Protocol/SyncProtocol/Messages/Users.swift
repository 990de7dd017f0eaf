/// Identifies the caller; signs in an existing user.
public struct CheckCredsRequest: RequestMessage {
    public typealias Response = UserIDResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.checkCreds
    public static let parameters = ParameterList(optional: [.reportIdentity])

    /// Whether the reply is to contain the ``AccountIdentity``.
    public let reportIdentity: Bool

    /// Creates a request.
    public init(reportIdentity: Bool = false) {
        self.reportIdentity = reportIdentity
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        reportIdentity = try query.optional(.reportIdentity) ?? false
    }

    public func encode(to encoder: inout QueryEncoder) {
        if reportIdentity { encoder.add(.reportIdentity, true) }
    }
}

/// Checks whether a third-party token is valid; debug builds only.
public struct CheckPrimaryCredsRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.checkPrimaryCreds
    public static let parameters = ParameterList()

    /// A request has no parameters.
    public init() {}

    public init(_ query: DecodedQuery) throws(RequestError) {}

    public func encode(to encoder: inout QueryEncoder) {}
}

/// Creates a user of an owning account type, and the user's first sharing group.
public struct AddUserRequest: RequestMessage {
    public typealias Response = UserIDResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.addUser
    public static let parameters = ParameterList(
        required: [.sharingGroupUUID], optional: [.acceptRetired, .cloudFolderName, .reportIdentity, .sharingGroupName])

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

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        sharingGroupName = try query.optionalText(
            .sharingGroupName, maximumCharacters: TextLimit.sharingGroupName)
        cloudFolderName = try query.optionalText(.cloudFolderName, maximumCharacters: TextLimit.cloudFolderName)
        reportIdentity = try query.optional(.reportIdentity) ?? false
        acceptRetired = try query.optional(.acceptRetired) ?? false
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.sharingGroupName, sharingGroupName)
        encoder.add(.cloudFolderName, cloudFolderName)
        if reportIdentity { encoder.add(.reportIdentity, true) }
        if acceptRetired { encoder.add(.acceptRetired, true) }
    }
}

/// Removes the caller from the server. Files in the caller's cloud storage are kept.
public struct RemoveUserRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.removeUser
    public static let parameters = ParameterList()

    /// A request has no parameters.
    public init() {}

    public init(_ query: DecodedQuery) throws(RequestError) {}

    public func encode(to encoder: inout QueryEncoder) {}
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
    public static let parameters = ParameterList()

    /// A request has no parameters.
    public init() {}

    public init(_ query: DecodedQuery) throws(RequestError) {}

    public func encode(to encoder: inout QueryEncoder) {}
}
