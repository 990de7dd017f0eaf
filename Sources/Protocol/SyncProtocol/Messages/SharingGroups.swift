/// Creates a sharing group with the caller as its admin; requires an owning account.
public struct CreateSharingGroupRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.createSharingGroup
    public static let parameters = ParameterList(required: [.sharingGroupUUID], optional: [.sharingGroupName])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's name, at most 255 characters; free text, need not be unique.
    public let sharingGroupName: String?

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        sharingGroupName = try query.optionalText(
            .sharingGroupName, maximumCharacters: TextLimit.sharingGroupName)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.sharingGroupName, sharingGroupName)
    }
}

/// Renames a sharing group.
public struct UpdateSharingGroupRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.updateSharingGroup
    public static let parameters = ParameterList(required: [.sharingGroupUUID, .sharingGroupName, .masterVersion])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The new name, at most 255 characters.
    public let sharingGroupName: String
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, sharingGroupName: String, masterVersion: MasterVersion) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
        self.masterVersion = masterVersion
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        sharingGroupName = try query.requiredText(
            .sharingGroupName, maximumCharacters: TextLimit.sharingGroupName)
        masterVersion = try query.required(.masterVersion)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.sharingGroupName, sharingGroupName)
        encoder.add(.masterVersion, masterVersion)
    }
}

/// Removes a sharing group for all its members. Files in cloud storage are kept.
public struct RemoveSharingGroupRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.removeSharingGroup
    public static let parameters = ParameterList(required: [.sharingGroupUUID, .masterVersion])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, masterVersion: MasterVersion) {
        self.sharingGroupUUID = sharingGroupUUID
        self.masterVersion = masterVersion
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        masterVersion = try query.required(.masterVersion)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.masterVersion, masterVersion)
    }
}

/// Removes the caller from a sharing group. Files in cloud storage are kept.
public struct RemoveUserFromSharingGroupRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.removeUserFromSharingGroup
    public static let parameters = ParameterList(required: [.sharingGroupUUID, .masterVersion])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, masterVersion: MasterVersion) {
        self.sharingGroupUUID = sharingGroupUUID
        self.masterVersion = masterVersion
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        masterVersion = try query.required(.masterVersion)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.masterVersion, masterVersion)
    }
}
