public import SyncProtocol

/// A sharing group as apps see it.
public struct SharingGroup: Sendable, Hashable {
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// Free text; nil if the group has no name.
    public let sharingGroupName: String?
    /// The user's permission.
    public let permission: Permission
    /// Whether others have made changes that have not been downloaded yet.
    public let syncNeeded: Bool
    /// Which contents this device downloads.
    public let downloadPolicy: DownloadPolicy
}

/// An operation on a sharing group on the user's behalf.
public enum SharingGroupOperation: Sendable, Hashable {
    /// The group was created.
    case creation
    /// The user left the group.
    case userRemoval
    /// The group was renamed.
    case update
}

/// Progress events, for user interfaces and tests.
public enum SyncEvent: Sendable, Hashable {
    /// Before the first download of a sync, and again whenever a change by others restarts them.
    case willStartDownloads(numberContentDownloads: Int, numberDownloadDeletions: Int)
    /// Before the first operation of an upload phase that has any.
    case willStartUploads(
        numberContentUploads: Int, numberUploadDeletions: Int, numberSharingGroupOperations: Int)
    /// A file is staged; others do not see it before ``contentUploadsCompleted(numberOfFiles:)``. Repeated whenever the
    /// library stages it again because of a change by others.
    case singleFileUploadComplete(SyncAttributes)
    /// A change waits, while others are sent: the storage of the file's owner does not accept it, or the user may no
    /// longer write. The library retries it with each sync that the app requests. Sent again only if the reason
    /// changes.
    case singleFileUploadWaiting(SyncAttributes, SyncError)
    /// This device has uploaded files again that others had deleted, or that a restored server had lost.
    case filesRestored([FileUUID])
    /// The server was restored from a backup older than this device's data of the group. The device's files count as
    /// newer; later changes by others are conflicts.
    case serverRestored(SharingGroup)
    /// A text is staged.
    case singleAppMetaDataUploadComplete(FileUUID)
    /// A deletion is staged.
    case singleUploadDeletionComplete(FileUUID)
    /// A whole queue is visible to others; the number of uploads in it.
    case contentUploadsCompleted(numberOfFiles: Int)
    /// A whole queue is visible to others; the number of deletions in it.
    case uploadDeletionsCompleted(numberOfFiles: Int)
    /// An operation on a group has completed.
    case sharingGroupUploadOperationCompleted(SharingGroup, SharingGroupOperation)
    /// For users without their own storage: the user who hosted their new files in this group has left.
    case sharingGroupOwningUserRemoved(SharingGroup)
    /// A change was set aside because it would always fail: the server or the storage does not accept such a file, or
    /// the file is missing, unreadable, or differs from the queued one. The rest of the queue continues without it. The
    /// library keeps it until the app queues it again, withdraws it, or uploads or deletes the file.
    case singleFileUploadFailed(SyncAttributes, SyncError)
    /// A sync was requested during a sync, and will follow.
    case syncDelayed
    /// A sync begins.
    case syncStarted
    /// A sync ended, without an error.
    case syncDone
    /// A sync ends early because the app asked for it.
    case syncStopping
    /// The server is closed; with the message of the server, or of its stand-in.
    case serverDown(message: String)
    /// A file was uploaded again after a switch of accounts, or no longer needs to be: the numbers of this device's
    /// completed and total files, and the number of uploaded bytes.
    case accountSwitchProgress(done: Int, total: Int, bytes: Int64)
    /// The switch of accounts is over.
    case accountSwitchFinished
    /// The server refused the credentials, and new ones are being requested.
    case refreshingCredentials
    /// The minimum version of the iOS app that the operator still supports. Sent once for each version.
    case minimumIOSClientVersion(ServerVersion)
}

/// One file of a delivery.
public struct DownloadOperation: Sendable, Hashable {
    /// The kinds of operations.
    public enum Kind: Sendable, Hashable {
        /// Only the text changed; the new text is in the attributes.
        case appMetaData
        /// New contents, and possibly a new text. The app owns the file, and moves it before it acknowledges the
        /// delivery. If `contentsChanged` is true, the owner changed the contents in the cloud directly, without the
        /// server.
        case file(LocalFileLocation, contentsChanged: Bool)
        /// The contents are out of reach; the attributes' `gone` contains the reason.
        case fileGone
        /// The file was deleted.
        case deletion
    }

    /// The kind of operation.
    public let kind: Kind
    /// The file's attributes on the server.
    public let attributes: SyncAttributes
    /// The server's version of the contents.
    public let fileVersion: FileVersion

    /// Creates an operation, for tests of an app.
    public init(kind: Kind, attributes: SyncAttributes, fileVersion: FileVersion) {
        self.kind = kind
        self.attributes = attributes
        self.fileVersion = fileVersion
    }
}
