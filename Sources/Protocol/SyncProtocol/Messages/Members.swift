/// Lists the members of a sharing group with what each may do.
public struct GetSharingGroupMembersRequest: RequestMessage {
    public typealias Response = GetSharingGroupMembersResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.getSharingGroupMembers
    public static let parameters = ParameterList(required: [.sharingGroupUUID])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID

    /// Puts a request together.
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

/// The members of a group, together with the master version at which they were.
public struct GetSharingGroupMembersResponse: ResponseMessage {
    /// One member.
    public struct Member: Sendable, Hashable, Decodable {
        /// The user.
        public let userId: UserID
        /// Display name from the account's provider.
        public let name: String
        /// What they may do.
        public let permission: Permission
        /// Whose storage takes their new files: their own number, or that of who invited them; nil once that user has left.
        public let owningUserId: UserID?

        /// Puts a member together.
        public init(userId: UserID, name: String, permission: Permission, owningUserId: UserID?) {
            self.userId = userId
            self.name = name
            self.permission = permission
            self.owningUserId = owningUserId
        }
    }

    /// Of the group.
    public let masterVersion: MasterVersion
    /// In the order of their numbers.
    public let sharingGroupMembers: [Member]

    /// Puts the answer together.
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

/// Gives a member of a sharing group another permission.
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
    /// What they may do from now on.
    public let permission: Permission

    /// Puts a request together.
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

/// Takes a member out of a sharing group.
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

    /// Puts a request together.
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
