/// Stages a change of a committed file's app metadata.
public struct UploadAppMetaDataRequest: RequestMessage {
    public typealias Response = MasterVersionCheckedResponse
    public static let endpoint = EndpointName.uploadAppMetaData
    public static let parameters = ParameterList(required: [.fileUUID, .appMetaData, .masterVersion, .sharingGroupUUID])

    /// The file.
    public let fileUUID: FileUUID
    /// The new metadata.
    public let appMetaData: AppMetaData
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID

    /// Puts a request together.
    public init(
        fileUUID: FileUUID, appMetaData: AppMetaData, masterVersion: MasterVersion, sharingGroupUUID: SharingGroupUUID
    ) {
        self.fileUUID = fileUUID
        self.appMetaData = appMetaData
        self.masterVersion = masterVersion
        self.sharingGroupUUID = sharingGroupUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        // First, as broken metadata swallows what follows it in the query, which then seems to be missing.
        appMetaData = try query.requiredAppMetaData()
        fileUUID = try query.required(.fileUUID)
        masterVersion = try query.required(.masterVersion)
        sharingGroupUUID = try query.required(.sharingGroupUUID)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.fileUUID, fileUUID)
        encoder.add(.appMetaData, appMetaData.jsonText)
        encoder.add(.masterVersion, masterVersion)
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
    }
}
