/// Lists the members of a sharing group with their permissions.
public struct GetSharingGroupMembersRequest: RequestMessage {
    public typealias Response = GetSharingGroupMembersResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.getSharingGroupMembers
    public static let parameters = ParameterList(required: [.sharingGroupUUID])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID) {
        self.sharingGroupUUID = sharingGroupUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
    }
}

/// The members of a group, together with the master version that they belong to.
public struct GetSharingGroupMembersResponse: ResponseMessage {
    /// One member.
    public struct Member: Sendable, Hashable, Decodable {
        /// The user.
        public let userId: UserID
        /// Display name from the account's provider.
        public let name: String
        /// The member's permission.
        public let permission: Permission
        /// The user whose storage holds the member's new files: the member's own id, or that of the inviting user; nil
        /// once that user has left.
        public let owningUserId: UserID?

        /// Creates a member.
        public init(userId: UserID, name: String, permission: Permission, owningUserId: UserID?) {
            self.userId = userId
            self.name = name
            self.permission = permission
            self.owningUserId = owningUserId
        }
    }

    /// The group's master version.
    public let masterVersion: MasterVersion
    /// The members, sorted by id.
    public let sharingGroupMembers: [Member]

    /// Creates a response.
    public init(masterVersion: MasterVersion, sharingGroupMembers: [Member]) {
        self.masterVersion = masterVersion
        self.sharingGroupMembers = sharingGroupMembers
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("masterVersion", masterVersion)
            writer.key("sharingGroupMembers")
            writer.array { writer in
                for member in sharingGroupMembers {
                    writer.object { writer in
                        writer.field("userId", member.userId)
                        writer.field("name", text: member.name)
                        writer.field("permission", member.permission)
                        writer.field("owningUserId", member.owningUserId)
                    }
                }
            }
        }
    }
}

/// Changes the permission of a member of a sharing group.
public struct UpdateSharingGroupMemberRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.updateSharingGroupMember
    public static let parameters = ParameterList(required: [.sharingGroupUUID, .masterVersion, .userId, .permission])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The member.
    public let userID: UserID
    /// The new permission.
    public let permission: Permission

    /// Creates a request.
    public init(
        sharingGroupUUID: SharingGroupUUID, masterVersion: MasterVersion, userID: UserID, permission: Permission
    ) {
        self.sharingGroupUUID = sharingGroupUUID
        self.masterVersion = masterVersion
        self.userID = userID
        self.permission = permission
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        masterVersion = try query.required(.masterVersion)
        userID = try query.required(.userId)
        permission = try query.required(.permission)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.masterVersion, masterVersion)
        encoder.add(.userId, userID)
        encoder.add(.permission, permission)
    }
}

/// Removes a member from a sharing group.
public struct RemoveSharingGroupMemberRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.removeSharingGroupMember
    public static let parameters = ParameterList(required: [.sharingGroupUUID, .masterVersion, .userId])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The member.
    public let userID: UserID

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, masterVersion: MasterVersion, userID: UserID) {
        self.sharingGroupUUID = sharingGroupUUID
        self.masterVersion = masterVersion
        self.userID = userID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        masterVersion = try query.required(.masterVersion)
        userID = try query.required(.userId)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.masterVersion, masterVersion)
        encoder.add(.userId, userID)
    }
}
