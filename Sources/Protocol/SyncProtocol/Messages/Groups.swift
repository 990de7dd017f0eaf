/// Creates a sharing group with the caller as its admin; requires an owning account.
public struct CreateSharingGroupRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.createSharingGroup
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .optionalText(.sharingGroupName, \.sharingGroupName, maximumCharacters: TextLimit.sharingGroupName))

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's name, at most 255 characters; free text, need not be unique.
    public let sharingGroupName: String?

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
    }
}

/// Renames a sharing group.
public struct UpdateSharingGroupRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.updateSharingGroup
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .requiredText(.sharingGroupName, \.sharingGroupName, maximumCharacters: TextLimit.sharingGroupName),
        .required(.masterVersion, \.masterVersion))

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
}

/// Removes a sharing group for all its members. Files in cloud storage are kept.
public struct RemoveSharingGroupRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.removeSharingGroup
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .required(.masterVersion, \.masterVersion))

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, masterVersion: MasterVersion) {
        self.sharingGroupUUID = sharingGroupUUID
        self.masterVersion = masterVersion
    }
}

/// Removes the caller from a sharing group. Files in cloud storage are kept.
public struct RemoveUserFromSharingGroupRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.removeUserFromSharingGroup
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .required(.masterVersion, \.masterVersion))

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, masterVersion: MasterVersion) {
        self.sharingGroupUUID = sharingGroupUUID
        self.masterVersion = masterVersion
    }
}

/// A sharing group in the reply to Index, as seen by one of its members.
public struct SharingGroupInfo: Sendable, Hashable, Decodable {
    /// A member as seen by others.
    public struct Member: Sendable, Hashable, Decodable {
        /// Display name from the account's provider.
        public let name: String
        /// The user.
        public let userId: UserID

        /// Creates a member.
        public init(name: String, userId: UserID) {
            self.name = name
            self.userId = userId
        }
    }

    /// The group.
    public var sharingGroupUUID: SharingGroupUUID
    /// Free text; absent if the group has no name.
    public var sharingGroupName: String?
    /// Whether the group has been removed.
    public var deleted: Bool
    /// The group's master version. Clients crash without it.
    public var masterVersion: MasterVersion
    /// The caller's permission. Clients crash without it.
    public var permission: Permission
    /// All members, including the caller.
    public var sharingGroupUsers: [Member]
    /// The kind of storage that holds the caller's new files; only if the caller has no storage of their own and has an
    /// owner.
    public var cloudStorageType: CloudStorageType?
    /// Differs from the mark recorded by a client if the group has since been restored to an earlier state; absent if
    /// the group has never been restored from a backup.
    public var restoreMark: RestoreMark?
    /// The group's master version right after the restoration: later changes were made on the restored server. Absent
    /// without a mark.
    public var restoredMasterVersion: MasterVersion?

    /// Creates a group.
    public init(
        sharingGroupUUID: SharingGroupUUID, sharingGroupName: String?, deleted: Bool, masterVersion: MasterVersion,
        permission: Permission, sharingGroupUsers: [Member], cloudStorageType: CloudStorageType?,
        restoreMark: RestoreMark? = nil, restoredMasterVersion: MasterVersion? = nil
    ) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
        self.deleted = deleted
        self.masterVersion = masterVersion
        self.permission = permission
        self.sharingGroupUsers = sharingGroupUsers
        self.cloudStorageType = cloudStorageType
        self.restoreMark = restoreMark
        self.restoredMasterVersion = restoredMasterVersion
    }

    private enum CodingKeys: String, CodingKey {
        case sharingGroupUUID, sharingGroupName, deleted, masterVersion, permission, sharingGroupUsers, cloudStorageType
        case restoreMark, restoredMasterVersion
    }

    /// Decodes an element of the list.
    ///
    /// Members that deployed clients do not require may be missing, and a storage that this version does not know is
    /// treated as missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        sharingGroupUUID = try container.decode(SharingGroupUUID.self, forKey: .sharingGroupUUID)
        sharingGroupName = try container.decodeIfPresent(String.self, forKey: .sharingGroupName)
        deleted = try container.decodeIfPresent(Bool.self, forKey: .deleted) ?? false
        masterVersion = try container.decode(MasterVersion.self, forKey: .masterVersion)
        permission = try container.decode(Permission.self, forKey: .permission)
        sharingGroupUsers = try container.decodeIfPresent([Member].self, forKey: .sharingGroupUsers) ?? []
        cloudStorageType = try container.knownWord(.cloudStorageType)
        restoreMark = try container.decodeIfPresent(RestoreMark.self, forKey: .restoreMark)
        restoredMasterVersion = try container.decodeIfPresent(MasterVersion.self, forKey: .restoredMasterVersion)
    }

    /// Writes the group as one object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("sharingGroupUUID", sharingGroupUUID)
            writer.field("sharingGroupName", text: sharingGroupName)
            writer.field("deleted", deleted)
            writer.field("masterVersion", masterVersion)
            writer.field("permission", permission)
            writer.field("sharingGroupUsers", objects: sharingGroupUsers) { member, writer in
                writer.field("name", text: member.name)
                writer.field("userId", member.userId)
            }
            writer.field("cloudStorageType", cloudStorageType)
            writer.field("restoreMark", text: restoreMark?.rawValue)
            writer.field("restoredMasterVersion", restoredMasterVersion)
        }
    }
}

/// Lists the members of a sharing group with their permissions.
public struct GetSharingGroupMembersRequest: RequestMessage {
    public typealias Response = GetSharingGroupMembersResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.getSharingGroupMembers
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID))

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID) {
        self.sharingGroupUUID = sharingGroupUUID
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
            writer.field("sharingGroupMembers", objects: sharingGroupMembers) { member, writer in
                writer.field("userId", member.userId)
                writer.field("name", text: member.name)
                writer.field("permission", member.permission)
                writer.field("owningUserId", member.owningUserId)
            }
        }
    }
}

/// Changes the permission of a member of a sharing group.
public struct UpdateSharingGroupMemberRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.updateSharingGroupMember
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .required(.masterVersion, \.masterVersion),
        .required(.userId, \.userID),
        .required(.permission, \.permission))

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
}

/// Removes a member from a sharing group.
public struct RemoveSharingGroupMemberRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.removeSharingGroupMember
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .required(.masterVersion, \.masterVersion),
        .required(.userId, \.userID))

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
}
