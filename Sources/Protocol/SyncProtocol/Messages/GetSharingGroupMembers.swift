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
