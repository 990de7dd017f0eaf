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
