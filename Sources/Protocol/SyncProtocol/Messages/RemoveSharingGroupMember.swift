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
