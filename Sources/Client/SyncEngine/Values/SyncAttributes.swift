public import SyncProtocol

/// A file's identity and description, as apps pass and receive it.
public struct SyncAttributes: Sendable, Hashable {
    /// The file.
    public var fileUUID: FileUUID
    /// The sharing group that the file permanently belongs to.
    public var sharingGroupUUID: SharingGroupUUID
    /// The type of the contents; required for uploads. Nil if the library does not know it.
    public var mimeType: MIMEType?
    /// The group of files that belong together; used only in the first upload of a file.
    public var fileGroupUUID: FileGroupUUID?
    /// When the file was first uploaded, by the server's clock; ignored in uploads.
    public var creationDate: WireDate?
    /// When its contents were last uploaded, by the server's clock; ignored in uploads.
    public var updateDate: WireDate?
    /// The app's own text about the file. In an upload, nil keeps the current text.
    public var appMetaData: String?
    /// Why this operation could not be carried out; ignored in uploads.
    public var gone: GoneReason?
    /// Whether the contents are missing from the server until a device uploads them again, because their owner has
    /// switched accounts. They are then delivered if the app does not have them. Ignored in uploads.
    public var awaitingReupload = false
    /// Whether the app does not have the contents, in a group whose files are downloaded on demand: it has not received
    /// them, or has evicted them. The other attributes are then the server's. Ignored in uploads.
    public var isIndexOnly = false
    /// Whether the app has requested the contents, and does not have them yet. Ignored in uploads.
    public var isRequested = false

    /// Creates attributes.
    public init(
        fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID, mimeType: MIMEType?,
        fileGroupUUID: FileGroupUUID? = nil, creationDate: WireDate? = nil, updateDate: WireDate? = nil
    ) {
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
        self.mimeType = mimeType
        self.fileGroupUUID = fileGroupUUID
        self.creationDate = creationDate
        self.updateDate = updateDate
    }
}

/// Which contents of a group a device downloads.
public enum DownloadPolicy: String, Sendable, Hashable {
    /// All contents, and all later versions.
    case automatic
    /// Contents that the app requests, and later versions of these until the app evicts them. Of the other files, the
    /// library follows only the index: attributes, texts and deletions.
    case onDemand
}

/// The order in which requested contents are downloaded.
public enum DownloadPriority: Int, Sendable, Hashable, Comparable {
    case low
    /// The priority of all contents of groups with the policy ``DownloadPolicy/automatic``.
    case normal
    case high

    /// Whether one priority is lower than another.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The location of a file on this device: a base folder and a path below it.
///
/// The path of an app's container may change with each installation, so only the base and the relative path are stored,
/// never the absolute path.
public struct LocalFileLocation: Sendable, Hashable, Codable, CustomStringConvertible {
    /// A folder of the device whose path is determined at each launch.
    public struct Base: RawRepresentable, Sendable, Hashable, Codable {
        /// The name under which the base is stored.
        public let rawValue: String

        /// Creates a base from its stored name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The user's documents.
        public static let documents = Self(rawValue: "documents")
        /// The app's main bundle.
        public static let mainBundle = Self(rawValue: "mainBundle")
        /// The app's supporting files.
        public static let applicationSupport = Self(rawValue: "applicationSupport")
        /// Files that the library owns: copies to upload, and finished downloads until the app takes them.
        public static let library = Self(rawValue: "library")
        /// No base: the path is absolute.
        public static let absolute = Self(rawValue: "absolute")
        /// The shared folder of an app group's apps and extensions.
        public static func appGroup(_ identifier: String) -> Self {
            Self(rawValue: "appGroup:" + identifier)
        }
    }

    /// The folder.
    public let base: Base
    /// The path below it, without a slash at its start unless the base is ``Base/absolute``.
    public let path: String

    /// Creates a location.
    public init(base: Base, path: String) {
        self.base = base
        self.path = path
    }

    /// A description for logs and reports.
    public var description: String { "\(base.rawValue):\(path)" }
}
