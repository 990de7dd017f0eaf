public import SyncProtocol

/// A sharing group as apps see it.
public struct SharingGroup: Sendable, Hashable {
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// Free text; nil if the group has no name.
    public let sharingGroupName: String?
    /// What the user may do.
    public let permission: Permission
    /// Whether others changed something that was not downloaded yet.
    public let syncNeeded: Bool
}

/// What was done to a sharing group on the user's behalf.
public enum SharingGroupOperation: Sendable, Hashable {
    /// The group was created.
    case creation
    /// The user left the group.
    case userRemoval
    /// The group was renamed.
    case update
}

/// Progress, for user interfaces and tests.
public enum SyncEvent: Sendable, Hashable {
    /// Before the first download of a sync, and again whenever a change by others restarts them.
    case willStartDownloads(numberContentDownloads: Int, numberDownloadDeletions: Int)
    /// Before the first operation of an upload phase that has any.
    case willStartUploads(
        numberContentUploads: Int, numberUploadDeletions: Int, numberSharingGroupOperations: Int)
    /// A file is staged; others do not see it before ``contentUploadsCompleted(numberOfFiles:)``. Repeated whenever a
    /// change by others makes the library stage it again.
    case singleFileUploadComplete(SyncAttributes)
    /// An upload was refused for good; `gone` of the attributes tells why. The library will not try it again.
    case singleFileUploadGone(SyncAttributes)
    /// A text is staged.
    case singleAppMetaDataUploadComplete(FileUUID)
    /// A deletion is staged.
    case singleUploadDeletionComplete(FileUUID)
    /// All of a queue is visible to others; the number of uploads in it.
    case contentUploadsCompleted(numberOfFiles: Int)
    /// All of a queue is visible to others; the number of deletions in it.
    case uploadDeletionsCompleted(numberOfFiles: Int)
    /// An operation on a group is done.
    case sharingGroupUploadOperationCompleted(SharingGroup, SharingGroupOperation)
    /// For users without storage of their own: whoever hosted their new files in this group left.
    case sharingGroupOwningUserRemoved(SharingGroup)
    /// An upload of contents or of a text is set aside, since it would fail for ever: the server does not take such a
    /// file, or the file is missing, unreadable, or not the one that was queued. The rest of the queue goes on without it.
    /// It stays with the library until the app queues it again, gives it up, or uploads or deletes the file anew.
    case singleFileUploadFailed(SyncAttributes, SyncError)
    /// A sync was asked for during a sync, and will follow.
    case syncDelayed
    /// A sync begins.
    case syncStarted
    /// A sync ended, without an error.
    case syncDone
    /// A sync ends early because the app asked for it.
    case syncStopping
    /// The server is closed; what it, or its stand-in, says.
    case serverDown(message: String)
    /// The server refused the credentials, and new ones are asked for.
    case refreshingCredentials
    /// The least version of the iOS app that the operator wants to go on. Once for each version.
    case minimumIOSClientVersion(ServerVersion)
}

/// One file of a delivery.
public struct DownloadOperation: Sendable, Hashable {
    /// What became of the file.
    public enum Kind: Sendable, Hashable {
        /// Only the text changed; the new one is in the attributes.
        case appMetaData
        /// New contents, and possibly a new text. The file is the app's: it moves it before it acknowledges. If
        /// `contentsChanged` is true, the owner changed the bytes in the cloud behind the server's back.
        case file(LocalFileLocation, contentsChanged: Bool)
        /// The contents are out of reach; `gone` of the attributes tells why.
        case fileGone
        /// The file was deleted.
        case deletion
    }

    /// What became of the file.
    public let kind: Kind
    /// The file as the server has it.
    public let attributes: SyncAttributes
    /// The version of the contents that the server has.
    public let fileVersion: FileVersion

    /// Puts an operation together, for tests of what an app does with it.
    public init(kind: Kind, attributes: SyncAttributes, fileVersion: FileVersion) {
        self.kind = kind
        self.attributes = attributes
        self.fileVersion = fileVersion
    }
}
