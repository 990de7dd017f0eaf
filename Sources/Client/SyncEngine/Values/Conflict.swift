/// What a download brings that clashes with local work.
public enum ServerContentType: Sendable, Hashable {
    /// New app metadata.
    case appMetaData
    /// New contents.
    case file(LocalFileLocation)
    /// New contents and new app metadata.
    case both(LocalFileLocation)
}

/// The local work with which a change of the server clashes.
public enum ConflictingClientOperation: Sendable, Hashable {
    /// What is to be uploaded.
    public enum ContentType: Sendable, Hashable {
        /// App metadata only.
        case appMetaData
        /// Contents only.
        case file
        /// Contents and app metadata.
        case both
    }

    /// The file is to be deleted.
    case uploadDeletion
    /// Contents, app metadata, or both are to be uploaded.
    case contentUpload(ContentType)
    /// First an upload, then a deletion.
    case both
}

/// A download of contents or app metadata that clashes with local work on the same file.
public struct ContentDownloadConflict: Sendable, Hashable {
    /// What the download brings.
    public let download: ServerContentType
    /// The file as the server has it.
    public let attributes: SyncAttributes
    /// The local work.
    public let conflictType: ConflictingClientOperation

    /// Puts a conflict together, for tests of an app's answers.
    public init(
        download: ServerContentType, attributes: SyncAttributes, conflictType: ConflictingClientOperation
    ) {
        self.download = download
        self.attributes = attributes
        self.conflictType = conflictType
    }
}

/// A deletion by somebody else that clashes with local work on the same file.
public struct DownloadDeletionConflict: Sendable, Hashable {
    /// The file that was deleted.
    public let attributes: SyncAttributes
    /// The local work; never a deletion.
    public let conflictType: ConflictingClientOperation

    /// Puts a conflict together, for tests of an app's answers.
    public init(attributes: SyncAttributes, conflictType: ConflictingClientOperation) {
        self.attributes = attributes
        self.conflictType = conflictType
    }
}

/// Which local work survives when a download is rejected.
public struct UploadResolution: OptionSet, Sendable, Hashable {
    /// The bits, one an option; stable, as they are stored.
    public let rawValue: Int

    /// Options by their bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Uploads go out, as versions after the rejected one.
    public static let keepContentUploads = Self(rawValue: 1)
    /// The deletion goes out.
    public static let keepUploadDeletions = Self(rawValue: 2)
    /// All local work goes out.
    public static let keepAll: Self = [.keepContentUploads, .keepUploadDeletions]
    /// The deletion alone goes out.
    public static let removeContentUploads: Self = .keepUploadDeletions
    /// Uploads alone go out.
    public static let removeUploadDeletions: Self = .keepContentUploads
    /// No local work survives. Unless the app queues a new upload, its contents stay behind the server's.
    public static let removeAll: Self = []
}

/// The answer to a ``ContentDownloadConflict``.
public enum ContentDownloadResolution: Sendable, Hashable {
    /// The local work is dropped and the download delivered.
    case acceptContentDownload
    /// The download is not delivered.
    case rejectContentDownload(UploadResolution)
}

/// The answer to a ``DownloadDeletionConflict``.
public enum DownloadDeletionResolution: Sendable, Hashable {
    /// What becomes of the uploads when a deletion is rejected.
    public enum ContentUploadResolution: Sendable, Hashable {
        /// They go out and bring the file back. Not possible for app metadata alone.
        case keepContentUpload
        /// They are dropped; the deletion comes again, without a conflict.
        case removeContentUpload
    }

    /// The uploads are dropped and the deletion delivered.
    case acceptDownloadDeletion
    /// The deletion is not delivered now, nor those of other files of the same file group.
    case rejectDownloadDeletion(ContentUploadResolution)
}
