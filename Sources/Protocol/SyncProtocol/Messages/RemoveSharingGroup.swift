/// Removes a sharing group for all its members. Files in cloud storage stay.
public struct RemoveSharingGroupRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.removeSharingGroup
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
