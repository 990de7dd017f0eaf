/// Stages the deletion of a committed file.
public struct UploadDeletionRequest: RequestMessage {
    public typealias Response = StagingResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.uploadDeletion
    public static let parameters = ParameterList(
        required: [.fileUUID, .fileVersion, .masterVersion, .sharingGroupUUID], optional: UploadBatch.parameters,
        debugOnly: [.actualDeletion], alwaysEncoded: UploadBatch.texts)

    /// The file.
    public let fileUUID: FileUUID
    /// The committed version, which must be the current one.
    public let fileVersion: FileVersion
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// Debug only: delete at once instead of staging.
    public let actualDeletion: Bool
    /// The batch that the deletion belongs to, if it shall not wait for ``DoneUploadsRequest``.
    public let batch: UploadBatch?

    /// Puts a request together.
    public init(
        fileUUID: FileUUID, fileVersion: FileVersion, masterVersion: MasterVersion, sharingGroupUUID: SharingGroupUUID,
        actualDeletion: Bool = false, batch: UploadBatch? = nil
    ) {
        self.fileUUID = fileUUID
        self.fileVersion = fileVersion
        self.masterVersion = masterVersion
        self.sharingGroupUUID = sharingGroupUUID
        self.actualDeletion = actualDeletion
        self.batch = batch
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        fileUUID = try query.required(.fileUUID)
        fileVersion = try query.required(.fileVersion)
        masterVersion = try query.required(.masterVersion)
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        actualDeletion = try query.optional(.actualDeletion) ?? false
        batch = try UploadBatch(query)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.fileUUID, fileUUID)
        encoder.add(.fileVersion, fileVersion)
        encoder.add(.masterVersion, masterVersion)
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        if actualDeletion { encoder.add(.actualDeletion, true) }
        batch?.encode(to: &encoder)
    }
}
