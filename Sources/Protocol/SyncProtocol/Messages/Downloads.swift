/// Downloads the current version of a file from its owner's storage.
public struct DownloadFileRequest: RequestMessage {
    public typealias Response = DownloadFileResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.downloadFile
    public static let fields = QueryFields(
        Self.init,
        .required(.fileUUID, \.fileUUID),
        .required(.fileVersion, \.fileVersion),
        .required(.masterVersion, \.masterVersion),
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .optional(.appMetaDataVersion, \.appMetaDataVersion),
        .flag(.direct, \.isDirect),
        .flag(.omitLongAppMetaData, \.mayOmitAppMetaData))

    /// The file.
    public let fileUUID: FileUUID
    /// The version, which must be the current one.
    public let fileVersion: FileVersion
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The version of the app metadata, which must be the current one, or nil.
    public let appMetaDataVersion: AppMetaDataVersion?
    /// Whether the client can read the bytes directly from the owner's storage.
    public let isDirect: Bool
    /// Whether the reply may omit metadata that are too long for a header, which the client then requests with
    /// ``DownloadAppMetaDataRequest``.
    public let mayOmitAppMetaData: Bool

    /// Creates a request.
    public init(
        fileUUID: FileUUID, fileVersion: FileVersion, masterVersion: MasterVersion, sharingGroupUUID: SharingGroupUUID,
        appMetaDataVersion: AppMetaDataVersion? = nil, isDirect: Bool = false, mayOmitAppMetaData: Bool = false
    ) {
        self.fileUUID = fileUUID
        self.fileVersion = fileVersion
        self.masterVersion = masterVersion
        self.sharingGroupUUID = sharingGroupUUID
        self.appMetaDataVersion = appMetaDataVersion
        self.isDirect = isDirect
        self.mayOmitAppMetaData = mayOmitAppMetaData
    }
}

/// The response to a download, sent in a header; the file's bytes are the body.
public enum DownloadFileResponse: ResponseMessage {
    /// The bytes are in the body. `contentsChanged` means that they differ from the uploaded ones, because the owner
    /// changed the file in the cloud; `checkSum` is always that of the body, in canonical form.
    case found(
        appMetaData: HeaderMetaData, cloudStorageType: CloudStorageType, checkSum: CheckSum, contentsChanged: Bool)
    /// The same bytes are at an address of the owner's storage; the body is empty.
    case elsewhere(
        DirectDownload, appMetaData: HeaderMetaData, cloudStorageType: CloudStorageType, checkSum: CheckSum,
        contentsChanged: Bool)
    /// The bytes are permanently unavailable; the body is empty.
    case gone(
        appMetaData: HeaderMetaData, cloudStorageType: CloudStorageType, reason: GoneReason, detail: GoneDetail? = nil)
    /// The client's master version is stale. The body is empty.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of a stale master version.
    public var isStale: Bool { if case .stale = self { true } else { false } }

    private enum CodingKeys: String, CodingKey {
        case appMetaData, appMetaDataOmitted, cloudStorageType, checkSum, contentsChanged, directDownload, gone,
            goneDetail,
            masterVersionUpdate
    }

    /// Decodes a reply; any `masterVersionUpdate` means stale, and an unknown word in `gone` is ignored.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let current = try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersionUpdate) {
            self = .stale(current: current)
            return
        }
        let isOmitted = try container.decodeIfPresent(Bool.self, forKey: .appMetaDataOmitted) ?? false
        let appMetaData: HeaderMetaData =
            isOmitted ? .omitted : .present(try container.decodeIfPresent(String.self, forKey: .appMetaData))
        let storage = try container.decode(CloudStorageType.self, forKey: .cloudStorageType)
        if let reason = try container.knownWord(.gone, as: GoneReason.self) {
            self = .gone(
                appMetaData: appMetaData, cloudStorageType: storage, reason: reason,
                detail: try container.knownWord(.goneDetail, as: GoneDetail.self))
        } else {
            let checkSum = try container.decode(CheckSum.self, forKey: .checkSum)
            let contentsChanged = try container.decodeIfPresent(Bool.self, forKey: .contentsChanged) ?? false
            if let direct = try container.decodeIfPresent(DirectDownload.self, forKey: .directDownload) {
                self = .elsewhere(
                    direct, appMetaData: appMetaData, cloudStorageType: storage, checkSum: checkSum,
                    contentsChanged: contentsChanged)
            } else {
                self = .found(
                    appMetaData: appMetaData, cloudStorageType: storage, checkSum: checkSum,
                    contentsChanged: contentsChanged)
            }
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .found(let appMetaData, let cloudStorageType, let checkSum, let contentsChanged):
                appMetaData.write(to: &writer)
                writer.field("cloudStorageType", cloudStorageType)
                writer.field("checkSum", checkSum)
                writer.field("contentsChanged", contentsChanged)
            case .elsewhere(let direct, let appMetaData, let cloudStorageType, let checkSum, let contentsChanged):
                appMetaData.write(to: &writer)
                writer.field("cloudStorageType", cloudStorageType)
                writer.field("checkSum", checkSum)
                writer.field("contentsChanged", contentsChanged)
                writer.key("directDownload")
                direct.write(to: &writer)
            case .gone(let appMetaData, let cloudStorageType, let reason, let detail):
                appMetaData.write(to: &writer)
                writer.field("cloudStorageType", cloudStorageType)
                writer.field("gone", reason)
                writer.field("goneDetail", detail)
            case .stale(let current):
                writer.field("masterVersionUpdate", current)
            }
        }
    }
}

/// The metadata of a file in a header, whose size proxies limit: nginx's default is 4,096 bytes for all headers of a
/// reply.
public enum HeaderMetaData: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
    /// The contents; nil if the file has none.
    case present(String?)
    /// The file has metadata that are too long for a header: ``DownloadAppMetaDataRequest`` reads them.
    case omitted

    /// The maximum length of the contents' JSON text in the header for a client that supports
    /// ``DownloadAppMetaDataRequest``.
    public static let maximumBytes = 2_048

    /// The contents for the reply to a client.
    /// - Parameter mayOmit: Whether the client has set ``DownloadFileRequest/mayOmitAppMetaData``.
    public init(_ contents: String?, mayOmit: Bool) {
        guard mayOmit, let contents else {
            self = .present(contents)
            return
        }
        var writer = JSONWriter(form: .asciiOnly)
        writer.value(text: contents)
        self = writer.bytes.count > Self.maximumBytes ? .omitted : .present(contents)
    }

    public init(stringLiteral contents: String) { self = .present(contents) }

    public init(nilLiteral: ()) { self = .present(nil) }

    /// The contents; nil if the reply does not contain them.
    public var contents: String? { if case .present(let contents) = self { contents } else { nil } }

    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .present(let contents): writer.field("appMetaData", text: contents)
        case .omitted: writer.field("appMetaDataOmitted", true)
        }
    }
}

/// Reads the current app metadata of a file.
public struct DownloadAppMetaDataRequest: RequestMessage {
    public typealias Response = DownloadAppMetaDataResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.downloadAppMetaData
    public static let fields = QueryFields(
        Self.init,
        .required(.fileUUID, \.fileUUID),
        .required(.appMetaDataVersion, \.appMetaDataVersion),
        .required(.masterVersion, \.masterVersion),
        .required(.sharingGroupUUID, \.sharingGroupUUID))

    /// The file.
    public let fileUUID: FileUUID
    /// The version, which must be the current one.
    public let appMetaDataVersion: AppMetaDataVersion
    /// The group's master version as the client knows it.
    public let masterVersion: MasterVersion
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID

    /// Creates a request.
    public init(
        fileUUID: FileUUID, appMetaDataVersion: AppMetaDataVersion, masterVersion: MasterVersion,
        sharingGroupUUID: SharingGroupUUID
    ) {
        self.fileUUID = fileUUID
        self.appMetaDataVersion = appMetaDataVersion
        self.masterVersion = masterVersion
        self.sharingGroupUUID = sharingGroupUUID
    }
}

/// The response to a request for app metadata.
public enum DownloadAppMetaDataResponse: ResponseMessage {
    /// The contents.
    case found(appMetaData: String)
    /// The client's master version is stale.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of a stale master version.
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

/// Why something is permanently unavailable, in the words that clients know.
public enum GoneReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The owning user, or the caller's own membership, no longer exists. In replies with status 410.
    case userRemoved
    /// The file is no longer in cloud storage. Only in the `gone` field of a DownloadFile reply with status 200.
    case fileRemovedOrRenamed
    /// The owner's cloud token no longer works and cannot be refreshed. In 410 replies and in `gone`.
    case authTokenExpiredOrRevoked
}

/// Details on why bytes are unavailable, for clients that support them: the `goneDetail` field of a DownloadFile reply.
public enum GoneDetail: String, Sendable, Hashable, Codable, CaseIterable {
    /// The owner has switched accounts, and nobody has uploaded these bytes again yet; they will become available
    /// again.
    case awaitingReupload
}

/// An address at the owner's cloud storage from which a client reads the bytes of one file directly.
///
/// Anyone with the address can read them: keep it secret like a password, and send no other authorization to it.
public struct DirectDownload: Sendable, Hashable, Decodable {
    /// The address.
    public let url: String
    /// Until when the address works, at most.
    public let expires: WireDate

    /// Creates a description.
    public init(url: String, expires: WireDate) {
        self.url = url
        self.expires = expires
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("url", text: url)
            writer.field("expires", expires)
        }
    }
}
