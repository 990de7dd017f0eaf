package import SyncProtocol

/// The last known state of a synchronized file.
package struct RecordedFile: Sendable, Hashable {
    /// The changes that the library does not have yet.
    package struct Pending: OptionSet, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// New contents.
        package static let contents = Self(rawValue: 1)
        /// A new path.
        package static let path = Self(rawValue: 2)
        /// The file was deleted locally.
        package static let deletion = Self(rawValue: 4)
    }

    /// Work that was passed to the library, and then dropped in favour of a change by others that is not delivered yet.
    package struct Conflict: OptionSet, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// The local contents, which must survive the delivery.
        package static let contents = Self(rawValue: 1)
        /// The path.
        package static let path = Self(rawValue: 2)
    }

    /// The file.
    package let fileUUID: FileUUID
    /// Its path, in the disk's spelling.
    package var path: RelativePath
    /// The file's signature when its contents were read; nil if they must be read again before they are trusted.
    package var signature: FileSignature?
    /// The contents that were last seen here.
    package var digest: ContentDigest
    /// The type with which the file was first uploaded, which never changes.
    package var mimeType: MIMEType
    /// When the contents were changed, in milliseconds since 1970.
    package var modified: Int64
    /// The display name of the person who changed the contents.
    package var by: String
    /// The path that the server was last known to have; nil if it has none.
    package var serverPath: RelativePath?
    /// The changes that the library does not have yet.
    package var pending: Pending = []
    /// Work dropped in favour of changes by others.
    package var conflict: Conflict = []
    /// Whether the local path differs from the one in the file's description, because that path is not possible here.
    package var isAlias = false

    package init(
        fileUUID: FileUUID, path: RelativePath, signature: FileSignature?, digest: ContentDigest, mimeType: MIMEType,
        modified: Int64, by: String, serverPath: RelativePath? = nil, pending: Pending = []
    ) {
        self.fileUUID = fileUUID
        self.path = path
        self.signature = signature
        self.digest = digest
        self.mimeType = mimeType
        self.modified = modified
        self.by = by
        self.serverPath = serverPath
        self.pending = pending
    }
}
