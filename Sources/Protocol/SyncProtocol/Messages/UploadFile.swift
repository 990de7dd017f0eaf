/// Stages a new file, or the next version of one; the bytes are the request's body.
public struct UploadFileRequest: RequestMessage {
    public typealias Response = UploadFileResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.uploadFile
    public static let fields = QueryFields(
        { metadata, file, group, type, fileVersion, masterVersion, checkSum, fileGroup, undelete, batch in
            Self(
                fileUUID: file, sharingGroupUUID: group, mimeType: type, fileVersion: fileVersion,
                masterVersion: masterVersion, checkSum: checkSum, fileGroupUUID: fileGroup, appMetaData: metadata,
                undeleteServerFile: undelete, batch: batch)
        },
        .appMetaData(\.appMetaData),
        .required(.fileUUID, \.fileUUID),
        .groupAsUUID(\.sharingGroupUUID),
        .required(.mimeType, \.mimeType),
        .required(.fileVersion, \.fileVersion),
        .required(.masterVersion, \.masterVersion),
        .required(.checkSum, \.checkSum),
        .optional(.fileGroupUUID, \.fileGroupUUID),
        .flag(.undeleteServerFile, \.undeleteServerFile),
        .batch(\.batch))

    /// The file.
    public let fileUUID: FileUUID
    /// The group; here it must be a well-formed UUID.
    public let sharingGroupUUID: SharingGroupUUID
    /// The type of the contents. ``MIMETypeTable`` decides whether it may be uploaded.
    public let mimeType: MIMEType
    /// 0 for a new file, otherwise the committed version plus 1.
    public let fileVersion: FileVersion
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The checksum of the body, in the flavour of the owner's storage, in any letter case.
    public let checkSum: CheckSum
    /// The group of files that belong together. Only with version 0.
    public let fileGroupUUID: FileGroupUUID?
    /// New app metadata; nil keeps the current one.
    public let appMetaData: AppMetaData?
    /// Whether to undelete a deleted file with these contents.
    public let undeleteServerFile: Bool
    /// The batch that the upload belongs to, unless it waits for ``DoneUploadsRequest``.
    public let batch: UploadBatch?

    /// Creates a request.
    public init(
        fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID, mimeType: MIMEType, fileVersion: FileVersion,
        masterVersion: MasterVersion, checkSum: CheckSum, fileGroupUUID: FileGroupUUID? = nil,
        appMetaData: AppMetaData? = nil, undeleteServerFile: Bool = false, batch: UploadBatch? = nil
    ) {
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
        self.mimeType = mimeType
        self.fileVersion = fileVersion
        self.masterVersion = masterVersion
        self.checkSum = checkSum
        self.fileGroupUUID = fileGroupUUID
        self.appMetaData = appMetaData
        self.undeleteServerFile = undeleteServerFile
        self.batch = batch
    }
}

/// The response to an upload, sent in a header.
public enum UploadFileResponse: ResponseMessage {
    /// The file is staged. `creationDate` is that of its version 0, `updateDate` that of this upload.
    case staged(creationDate: WireDate, updateDate: WireDate)
    /// The same, and the batch is complete: the whole batch is committed as this master version.
    case committed(creationDate: WireDate, updateDate: WireDate, masterVersion: MasterVersion)
    /// The client's master version is stale. Nothing was done.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of a stale master version.
    public var isStale: Bool { if case .stale = self { true } else { false } }

    private enum CodingKeys: String, CodingKey {
        case creationDate, updateDate, committedMasterVersion, masterVersionUpdate
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let current = try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersionUpdate) {
            self = .stale(current: current)
        } else {
            let creationDate = try container.decode(WireDate.self, forKey: .creationDate)
            let updateDate = try container.decode(WireDate.self, forKey: .updateDate)
            self =
                try container.decodeIfPresent(MasterVersion.self, forKey: .committedMasterVersion)
                .map { .committed(creationDate: creationDate, updateDate: updateDate, masterVersion: $0) }
                ?? .staged(creationDate: creationDate, updateDate: updateDate)
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .staged(let creationDate, let updateDate):
                writer.field("creationDate", creationDate)
                writer.field("updateDate", updateDate)
            case .committed(let creationDate, let updateDate, let masterVersion):
                writer.field("creationDate", creationDate)
                writer.field("updateDate", updateDate)
                writer.field("committedMasterVersion", masterVersion)
            case .stale(let current):
                writer.field("masterVersionUpdate", current)
            }
        }
    }
}
