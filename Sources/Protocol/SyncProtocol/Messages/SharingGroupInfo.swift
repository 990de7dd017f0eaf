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
            writer.key("sharingGroupUsers")
            writer.array { writer in
                for member in sharingGroupUsers {
                    writer.object { writer in
                        writer.field("name", text: member.name)
                        writer.field("userId", member.userId)
                    }
                }
            }
            writer.field("cloudStorageType", cloudStorageType)
            writer.field("restoreMark", text: restoreMark?.rawValue)
            writer.field("restoredMasterVersion", restoredMasterVersion)
        }
    }
}
