/// Asks who the caller is; signs in an existing user.
public struct CheckCredsRequest: RequestMessage {
    public typealias Response = UserIDResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.checkCreds
    public static let parameters = ParameterList()

    /// A request has no parameters.
    public init() {}

    public init(_ query: DecodedQuery) throws(RequestError) {}

    public func encode(to encoder: inout QueryEncoder) {}
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
        required: [.sharingGroupUUID], optional: [.cloudFolderName, .sharingGroupName])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's name, at most 255 characters; free text, need not be unique.
    public let sharingGroupName: String?
    /// Folder at the root of the user's storage, at most 256 characters. Ignored unless the account type needs one.
    public let cloudFolderName: String?

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil, cloudFolderName: String? = nil) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
        self.cloudFolderName = cloudFolderName
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        sharingGroupName = try query.optionalText(
            .sharingGroupName, maximumCharacters: TextLimit.sharingGroupName)
        cloudFolderName = try query.optionalText(.cloudFolderName, maximumCharacters: TextLimit.cloudFolderName)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.sharingGroupName, sharingGroupName)
        encoder.add(.cloudFolderName, cloudFolderName)
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

    /// Creates a response.
    public init(userId: UserID) {
        self.userId = userId
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("userId", userId)
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
