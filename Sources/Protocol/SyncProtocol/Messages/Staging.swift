/// Stages a change to a committed file's app metadata.
public struct UploadAppMetaDataRequest: RequestMessage {
    public typealias Response = StagingResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.uploadAppMetaData
    public static let fields = QueryFields(
        { metadata, file, version, group, batch in
            Self(fileUUID: file, appMetaData: metadata, masterVersion: version, sharingGroupUUID: group, batch: batch)
        },
        .appMetaData(\.appMetaData),
        .required(.fileUUID, \.fileUUID),
        .required(.masterVersion, \.masterVersion),
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .batch(\.batch))

    /// Maximum size of a body with metadata that are not in the query: the longest contents, each byte escaped, and
    /// some whitespace.
    public static let maximumBodyBytes = 512 * 1024

    /// The file.
    public let fileUUID: FileUUID
    /// The new metadata; nil if they are sent as the request's body.
    public let appMetaData: AppMetaData?
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The batch that the change belongs to, unless it waits for ``DoneUploadsRequest``.
    public let batch: UploadBatch?

    /// Creates a request.
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
}

/// Stages the deletion of a committed file.
public struct UploadDeletionRequest: RequestMessage {
    public typealias Response = StagingResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.uploadDeletion
    public static let fields = QueryFields(
        Self.init,
        .required(.fileUUID, \.fileUUID),
        .required(.fileVersion, \.fileVersion),
        .required(.masterVersion, \.masterVersion),
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .flag(.actualDeletion, \.actualDeletion),
        .batch(\.batch))

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
    /// The batch that the deletion belongs to, unless it waits for ``DoneUploadsRequest``.
    public let batch: UploadBatch?

    /// Creates a request.
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
}

/// The response of an endpoint that stages a change to a file without contents.
public enum StagingResponse: ResponseMessage {
    /// The change waits to be committed.
    case staged
    /// The change completed its batch: the whole batch is committed as this master version.
    case committed(masterVersion: MasterVersion)
    /// The client's master version is stale. Nothing was done; the client reads the index and retries.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of a stale master version.
    public var isStale: Bool { if case .stale = self { true } else { false } }

    private enum CodingKeys: String, CodingKey {
        case committedMasterVersion, masterVersionUpdate
    }

    /// Decodes a reply; any `masterVersionUpdate` means stale.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let current = try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersionUpdate) {
            self = .stale(current: current)
        } else {
            self =
                try container.decodeIfPresent(MasterVersion.self, forKey: .committedMasterVersion)
                .map { .committed(masterVersion: $0) } ?? .staged
        }
    }

    /// Writes `{}` if there is nothing to report.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .staged: break
            case .committed(let masterVersion): writer.field("committedMasterVersion", masterVersion)
            case .stale(let current): writer.field("masterVersionUpdate", current)
            }
        }
    }
}

/// Lists the changes that this user has staged on this device in one group.
public struct GetUploadsRequest: RequestMessage {
    public typealias Response = GetUploadsResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.getUploads
    public static let fields = QueryFields(Self.init, .groupAsUUID(\.sharingGroupUUID))

    /// The group; here it must be a well-formed UUID.
    public let sharingGroupUUID: SharingGroupUUID

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID) {
        self.sharingGroupUUID = sharingGroupUUID
    }
}

/// Lists staged rows; may be empty.
public struct GetUploadsResponse: ResponseMessage {
    /// What is staged, in no particular order.
    public let uploads: [FileInfo]

    /// Creates a response.
    public init(uploads: [FileInfo]) {
        self.uploads = uploads
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("uploads")
            writer.array { writer in
                for upload in uploads { upload.write(to: &writer) }
            }
        }
    }
}

/// Discards changes that this user has staged on this device in one group: all of them, those of some files, or those
/// of a batch.
public struct DiscardUploadsRequest: RequestMessage {
    public typealias Response = DiscardUploadsResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.discardUploads
    public static let fields = QueryFields(
        Self.init,
        .groupAsUUID(\.sharingGroupUUID),
        QueryField(
            parameters: ParameterList(optional: [.fileUUIDs]),
            decode: { query throws(RequestError) in try query.text(.fileUUIDs).map(files) },
            encode: { $1.add(.fileUUIDs, $0.fileUUIDs.map { $0.map(\.rawValue).joined(separator: ",") }) }),
        .optional(.batchUUID, \.batchUUID))

    /// The maximum number of files that one request may name.
    public static let maximumFiles = 1_000

    /// The group; here it must be a well-formed UUID.
    public let sharingGroupUUID: SharingGroupUUID
    /// Only changes to these files.
    public let fileUUIDs: [FileUUID]?
    /// Only changes in this batch.
    public let batchUUID: BatchUUID?

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, fileUUIDs: [FileUUID]? = nil, batchUUID: BatchUUID? = nil) {
        self.sharingGroupUUID = sharingGroupUUID
        self.fileUUIDs = fileUUIDs
        self.batchUUID = batchUUID
    }

    private static func files(_ text: String) throws(RequestError) -> [FileUUID] {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count <= maximumFiles else { throw .outOfRange(.fileUUIDs, allowed: 1...Int64(maximumFiles)) }
        var files: [FileUUID] = []
        for part in parts {
            guard let file = FileUUID(String(part)) else { throw .malformed(.fileUUIDs, expected: .uuids) }
            files.append(file)
        }
        return files
    }
}

/// The number of discarded changes.
public struct DiscardUploadsResponse: ResponseMessage {
    /// Uploads, metadata changes and deletions together; 0 if nothing is staged, or no longer.
    public let numberUploadsDiscarded: Int32

    /// Creates a response.
    public init(numberUploadsDiscarded: Int32) {
        self.numberUploadsDiscarded = numberUploadsDiscarded
    }

    private enum CodingKeys: String, CodingKey {
        case numberUploadsDiscarded
    }

    /// Decodes a reply.
    public init(from decoder: any Decoder) throws {
        numberUploadsDiscarded = try decoder.container(keyedBy: CodingKeys.self).number(.numberUploadsDiscarded)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("numberUploadsDiscarded", numberUploadsDiscarded)
        }
    }
}
