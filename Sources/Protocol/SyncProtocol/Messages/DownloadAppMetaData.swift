/// Reads the current app metadata of a file.
public struct DownloadAppMetaDataRequest: RequestMessage {
    public typealias Response = DownloadAppMetaDataResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.downloadAppMetaData
    public static let parameters = ParameterList(
        required: [.fileUUID, .appMetaDataVersion, .masterVersion, .sharingGroupUUID])

    /// The file.
    public let fileUUID: FileUUID
    /// The version, which must be the current one.
    public let appMetaDataVersion: AppMetaDataVersion
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID

    /// Puts a request together.
    public init(
        fileUUID: FileUUID, appMetaDataVersion: AppMetaDataVersion, masterVersion: MasterVersion,
        sharingGroupUUID: SharingGroupUUID
    ) {
        self.fileUUID = fileUUID
        self.appMetaDataVersion = appMetaDataVersion
        self.masterVersion = masterVersion
        self.sharingGroupUUID = sharingGroupUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        fileUUID = try query.required(.fileUUID)
        appMetaDataVersion = try query.required(.appMetaDataVersion)
        masterVersion = try query.required(.masterVersion)
        sharingGroupUUID = try query.required(.sharingGroupUUID)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.fileUUID, fileUUID)
        encoder.add(.appMetaDataVersion, appMetaDataVersion)
        encoder.add(.masterVersion, masterVersion)
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
    }
}

/// The answer to a question for app metadata.
public enum DownloadAppMetaDataResponse: ResponseMessage {
    /// The contents.
    case found(appMetaData: String)
    /// The client's master version is not the group's.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of another master version.
    public var isStale: Bool { if case .stale = self { true } else { false } }

    private enum CodingKeys: String, CodingKey {
        case appMetaData, masterVersionUpdate
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let current = try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersionUpdate) {
            self = .stale(current: current)
        } else {
            self = .found(appMetaData: try container.decode(String.self, forKey: .appMetaData))
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .found(let appMetaData): writer.field("appMetaData", text: appMetaData)
            case .stale(let current): writer.field("masterVersionUpdate", current)
            }
        }
    }
}
