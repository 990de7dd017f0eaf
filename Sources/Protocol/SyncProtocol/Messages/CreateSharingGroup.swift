/// Creates a sharing group with the caller as its admin; takes an owning account.
public struct CreateSharingGroupRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.createSharingGroup
    public static let parameters = ParameterList(required: [.sharingGroupUUID], optional: [.sharingGroupName])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's name, at most 255 characters; free text, need not be unique.
    public let sharingGroupName: String?

    /// Puts a request together.
    public init(sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        sharingGroupName = try query.optionalText(
            .sharingGroupName, maximumCharacters: TextLimit.sharingGroupName)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.sharingGroupName, sharingGroupName)
    }
}
