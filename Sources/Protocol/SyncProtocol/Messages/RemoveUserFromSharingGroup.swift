/// Takes the caller out of a sharing group. Files in cloud storage stay.
public struct RemoveUserFromSharingGroupRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.removeUserFromSharingGroup
    public static let parameters = ParameterList(required: [.sharingGroupUUID, .masterVersion])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion

    /// Puts a request together.
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
