/// The contents of a download that conflicts with local changes.
public enum ServerContentType: Sendable, Hashable {
    /// New app metadata.
    case appMetaData
    /// New contents.
    case file(LocalFileLocation)
    /// New contents and new app metadata.
    case both(LocalFileLocation)
}

/// The local changes that conflict with a change on the server.
public enum ConflictingClientOperation: Sendable, Hashable {
    /// The kind of content to upload.
    public enum ContentType: Sendable, Hashable {
        /// App metadata only.
        case appMetaData
        /// Contents only.
        case file
        /// Contents and app metadata.
        case both
    }

    /// A deletion of the file is queued.
    case uploadDeletion
    /// Uploads of contents, app metadata, or both are queued.
    case contentUpload(ContentType)
    /// First an upload, then a deletion.
    case both
}

/// A download of contents or app metadata that conflicts with local changes to the same file.
public struct ContentDownloadConflict: Sendable, Hashable {
    /// The contents of the download.
    public let download: ServerContentType
    /// The file's attributes on the server.
    public let attributes: SyncAttributes
    /// The local changes.
    public let conflictType: ConflictingClientOperation

    /// Creates a conflict, for tests of an app's answers.
    public init(
        download: ServerContentType, attributes: SyncAttributes, conflictType: ConflictingClientOperation
    ) {
        self.download = download
        self.attributes = attributes
        self.conflictType = conflictType
    }
}

/// A deletion by another user or device that conflicts with local changes to the same file.
public struct DownloadDeletionConflict: Sendable, Hashable {
    /// The file that was deleted.
    public let attributes: SyncAttributes
    /// The local changes; never a deletion.
    public let conflictType: ConflictingClientOperation

    /// Creates a conflict, for tests of an app's answers.
    public init(attributes: SyncAttributes, conflictType: ConflictingClientOperation) {
        self.attributes = attributes
        self.conflictType = conflictType
    }
}

/// Which local changes are kept when a download is rejected.
public struct UploadResolution: OptionSet, Sendable, Hashable {
    /// The bits, one per option; stable, since they are stored.
    public let rawValue: Int

    /// Creates a set of options from their bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Uploads are sent, as versions after the rejected one.
    public static let keepContentUploads = Self(rawValue: 1)
    /// The deletion is sent.
    public static let keepUploadDeletions = Self(rawValue: 2)
    /// All local changes are sent.
    public static let keepAll: Self = [.keepContentUploads, .keepUploadDeletions]
    /// Only the deletion is sent.
    public static let removeContentUploads: Self = .keepUploadDeletions
    /// Only uploads are sent.
    public static let removeUploadDeletions: Self = .keepContentUploads
    /// No local changes are kept. Unless the app queues a new upload, its contents remain stale.
    public static let removeAll: Self = []
}

/// The answer to a ``ContentDownloadConflict``.
public enum ContentDownloadResolution: Sendable, Hashable {
    /// The local changes are dropped and the download is delivered.
    case acceptContentDownload
    /// The download is not delivered.
    case rejectContentDownload(UploadResolution)
}

/// The answer to a ``DownloadDeletionConflict``.
public enum DownloadDeletionResolution: Sendable, Hashable {
    /// The treatment of the uploads when a deletion is rejected.
    public enum ContentUploadResolution: Sendable, Hashable {
        /// They are sent and restore the file. Not possible for app metadata alone.
        case keepContentUpload
        /// They are dropped; the deletion is delivered later, without a conflict. If the file exists again by then, the
        /// file is delivered.
        case removeContentUpload
    }

    /// The uploads are dropped and the deletion is delivered.
    case acceptDownloadDeletion
    /// The deletion is not delivered now, nor are those of other files in the same file group: with
    /// ``ContentUploadResolution/keepContentUpload`` the library asks the app for their contents, and uploads them
    /// again.
    case rejectDownloadDeletion(ContentUploadResolution)
}
