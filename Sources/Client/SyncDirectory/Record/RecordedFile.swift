package import SyncProtocol

/// What was last seen of one synchronized file.
package struct RecordedFile: Sendable, Hashable {
    /// What the library still has to be told.
    package struct Pending: OptionSet, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// New contents.
        package static let contents = Self(rawValue: 1)
        /// A new path.
        package static let path = Self(rawValue: 2)
        /// The file was deleted here.
        package static let deletion = Self(rawValue: 4)
    }

    /// What was given to the library, and then given up in favour of a change by others that is not delivered yet.
    package struct Conflict: OptionSet, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// The contents that lie here; they are to survive the delivery.
        package static let contents = Self(rawValue: 1)
        /// The path.
        package static let path = Self(rawValue: 2)
    }

    /// The file.
    package let fileUUID: FileUUID
    /// Where it lies, in the disk's spelling.
    package var path: RelativePath
    /// The state in which its contents were read; nil if they must be read again before they are believed.
    package var signature: FileSignature?
    /// The contents that were last seen here.
    package var digest: ContentDigest
    /// The kind under which the file was first uploaded, which stays.
    package var mimeType: MIMEType
    /// When the contents were changed, in milliseconds since 1970.
    package var modified: Int64
    /// Who changed the contents.
    package var by: String
    /// The path that the server was last known to have; nil if it has none.
    package var serverPath: RelativePath?
    /// What the library still has to be told.
    package var pending: Pending = []
    /// What was given up in favour of others.
    package var conflict: Conflict = []
    /// Whether the file lies here elsewhere than its description says, because it cannot lie there.
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
