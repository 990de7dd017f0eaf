/// Creates a user of an owning account type, and the user's first sharing group.
public struct AddUserRequest: RequestMessage {
    public typealias Response = UserIDResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.addUser
    public static let parameters = ParameterList(
        required: [.sharingGroupUUID], optional: [.cloudFolderName, .sharingGroupName])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The group's name, at most 255 characters; free text, need not be unique.
    public let sharingGroupName: String?
    /// Folder at the root of the user's storage, at most 256 characters. Ignored unless the account type needs one.
    public let cloudFolderName: String?

    /// Puts a request together.
    public init(sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil, cloudFolderName: String? = nil) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingGroupName = sharingGroupName
        self.cloudFolderName = cloudFolderName
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        sharingGroupName = try query.optionalText(
            .sharingGroupName, maximumCharacters: TextLimit.sharingGroupName)
        cloudFolderName = try query.optionalText(.cloudFolderName, maximumCharacters: TextLimit.cloudFolderName)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.sharingGroupName, sharingGroupName)
        encoder.add(.cloudFolderName, cloudFolderName)
    }
}
