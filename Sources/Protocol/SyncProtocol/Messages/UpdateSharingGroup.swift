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

    /// Puts a request together.
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
