/// Stages a change of a committed file's app metadata.
public struct UploadAppMetaDataRequest: RequestMessage {
    public typealias Response = StagingResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.uploadAppMetaData
    public static let parameters = ParameterList(
        required: [.fileUUID, .masterVersion, .sharingGroupUUID],
        optional: [.appMetaData] + UploadBatch.parameters, alwaysEncoded: UploadBatch.texts)

    /// Longest body with metadata that the query does not hold: the longest contents, each byte escaped, and some blanks.
    public static let maximumBodyBytes = 512 * 1024

    /// The file.
    public let fileUUID: FileUUID
    /// The new metadata; nil if they are the request's body.
    public let appMetaData: AppMetaData?
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The batch that the change belongs to, if it shall not wait for ``DoneUploadsRequest``.
    public let batch: UploadBatch?

    /// Puts a request together.
    public init(
        fileUUID: FileUUID, appMetaData: AppMetaData?, masterVersion: MasterVersion,
        sharingGroupUUID: SharingGroupUUID, batch: UploadBatch? = nil
    ) {
        self.fileUUID = fileUUID
        self.appMetaData = appMetaData
        self.masterVersion = masterVersion
        self.sharingGroupUUID = sharingGroupUUID
        self.batch = batch
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        // First, as broken metadata swallows what follows it in the query, which then seems to be missing.
        appMetaData = try query.optionalAppMetaData()
        fileUUID = try query.required(.fileUUID)
        masterVersion = try query.required(.masterVersion)
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        batch = try UploadBatch(query)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.fileUUID, fileUUID)
        encoder.add(.appMetaData, appMetaData?.jsonText)
        encoder.add(.masterVersion, masterVersion)
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        batch?.encode(to: &encoder)
    }
}
