/// Uploads the bytes of a version that waits for them; they are the request's body.
public struct ReuploadFileRequest: RequestMessage {
    public typealias Response = ReuploadFileResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.reuploadFile
    public static let fields = QueryFields(
        Self.init,
        .required(.fileUUID, \.fileUUID),
        .groupAsUUID(\.sharingGroupUUID),
        .required(.fileVersion, \.fileVersion),
        .required(.mimeType, \.mimeType),
        .required(.checkSum, \.checkSum),
        .optional(.switchId, \.switchId),
        .optional(.contentSHA256, \.contentSHA256))

    /// The file.
    public let fileUUID: FileUUID
    /// The group; here it must be a well-formed UUID.
    public let sharingGroupUUID: SharingGroupUUID
    /// The committed version.
    public let fileVersion: FileVersion
    /// The type of the file.
    public let mimeType: MIMEType
    /// The checksum of the body, in the flavour of the owner's current storage, in any letter case.
    public let checkSum: CheckSum
    /// The switch that caused the file to wait, for the log; nil from members who know only that it waits.
    public let switchId: AccountSwitchID?
    /// SHA-256 of the body; nil if the client does not compute it.
    public let contentSHA256: SHA256Digits?

    /// Creates a request.
    public init(
        fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID, fileVersion: FileVersion, mimeType: MIMEType,
        checkSum: CheckSum, switchId: AccountSwitchID? = nil, contentSHA256: SHA256Digits? = nil
    ) {
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
        self.fileVersion = fileVersion
        self.mimeType = mimeType
        self.checkSum = checkSum
        self.switchId = switchId
        self.contentSHA256 = contentSHA256
    }
}

/// The response to a repeated upload, sent in a header.
public enum ReuploadFileResponse: ResponseMessage {
    /// The bytes are expected in other requests (status 201), since the request had `Upload-Length`; the headers say
    /// where to send them.
    case created(UploadUUID)
    /// The bytes are stored, and the file can be downloaded again.
    case stored
    /// Somebody else was faster, or the file was not waiting.
    case alreadyStored
    /// The file has a newer version.
    case versionAdvanced(current: FileVersion)
    /// The file is deleted.
    case deleted

    private enum Word: String, Codable {
        case stored, alreadyStored, versionAdvanced, deleted
    }

    private enum CodingKeys: String, CodingKey {
        case result, currentVersion, uploadUUID
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let uploadUUID = try container.decodeIfPresent(UploadUUID.self, forKey: .uploadUUID) {
            self = .created(uploadUUID)
            return
        }
        self =
            switch try container.decode(Word.self, forKey: .result) {
            case .stored: .stored
            case .alreadyStored: .alreadyStored
            case .versionAdvanced:
                .versionAdvanced(current: try container.decode(FileVersion.self, forKey: .currentVersion))
            case .deleted: .deleted
            }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .created(let uploadUUID): writer.field("uploadUUID", uploadUUID)
            case .stored: writer.field("result", Word.stored)
            case .alreadyStored: writer.field("result", Word.alreadyStored)
            case .versionAdvanced(let current):
                writer.field("result", Word.versionAdvanced)
                writer.field("currentVersion", current)
            case .deleted: writer.field("result", Word.deleted)
            }
        }
    }
}
