package import SyncProtocol

/// A file that is to be staged. Checksum and size are found when it is sent, since until then it may still change.
package struct FileUpload: Sendable, Equatable {
    /// The file.
    package let fileUUID: FileUUID
    /// The group.
    package let sharingGroupUUID: SharingGroupUUID
    /// Kind of contents.
    package let mimeType: MIMEType
    /// 0 for a new file, else the committed version plus 1.
    package let fileVersion: FileVersion
    /// The group's master version as the client knows it.
    package let masterVersion: MasterVersion
    /// Only with version 0.
    package let fileGroupUUID: FileGroupUUID?
    /// The new text with its version; nil leaves it as it is.
    package let appMetaData: AppMetaData?
    /// Whether a deleted file shall live again.
    package let undeleteServerFile: Bool
    /// Where the contents are.
    package let source: LocalFileLocation
    /// Size when it was queued, in bytes; a file of another size must not be sent.
    package let fileSize: Int64?
    /// Time of its last change when it was queued; a file that was changed since must not be sent.
    package let fileModified: Double?
    /// Decides about the kind of checksum. Nil if nobody hosts the file: the server refuses it, whatever the checksum.
    package let cloudStorageType: CloudStorageType?
    /// The batch that it belongs to; nil if it waits for a commit.
    package var batch: UploadBatch?
}

/// What the engine wants from the server.
package enum ServerRequest: Sendable, Equatable {
    case index(IndexRequestParameters)
    case uploadFile(FileUpload)
    case uploadAppMetaData(
        FileUUID, AppMetaData, masterVersion: MasterVersion, sharingGroupUUID: SharingGroupUUID,
        batch: UploadBatch? = nil)
    case uploadDeletion(
        FileUUID, FileVersion, masterVersion: MasterVersion, sharingGroupUUID: SharingGroupUUID,
        batch: UploadBatch? = nil)
    case getUploads(SharingGroupUUID)
    case discardUploads(SharingGroupUUID, [FileUUID])
    case doneUploads(Commit)
    case downloadFile(
        FileUUID, FileVersion, AppMetaDataVersion?, masterVersion: MasterVersion, sharingGroupUUID: SharingGroupUUID)
    case downloadAppMetaData(
        FileUUID, AppMetaDataVersion, masterVersion: MasterVersion, sharingGroupUUID: SharingGroupUUID)
    case createSharingGroup(SharingGroupUUID, name: String?)
    case removeUserFromSharingGroup(SharingGroupUUID, masterVersion: MasterVersion)

    /// Which files an index shall list.
    package struct IndexRequestParameters: Sendable, Equatable {
        /// The group whose files are wanted; nil for the list of groups alone.
        package let sharingGroupUUID: SharingGroupUUID?
        /// Only what changed after this master version is wanted.
        package let since: MasterVersion?

        /// Puts the parameters together.
        package init(sharingGroupUUID: SharingGroupUUID?, since: MasterVersion?) {
            self.sharingGroupUUID = sharingGroupUUID
            self.since = since
        }
    }

    /// A commit of what is staged.
    package struct Commit: Sendable, Equatable {
        /// The group.
        package let sharingGroupUUID: SharingGroupUUID
        /// The group's master version as the client knows it.
        package let masterVersion: MasterVersion
        /// The group's new name.
        package let sharingGroupName: String?
        /// What the other members are told.
        package let pushNotificationMessage: String?
        /// Recognises a repetition; nil for a server that does not.
        package let commitID: CommitID?
        /// How many deletions it contains: each may take a server time that deletes from the storage before it answers.
        package let numberOfDeletions: Int
    }
}

/// What came of a request. Its kind belongs to the kind of the request.
package enum ServerReply: Sendable {
    case index(IndexResponse)
    /// A file is staged, with the server's dates.
    case fileStaged(creationDate: WireDate, updateDate: WireDate)
    /// A text or a deletion is staged; staged changes are withdrawn; the group is created, or left.
    case done
    case uploads([FileInfo])
    /// A change was the last of its batch to arrive, or is one of a batch that is complete: all of it is committed as this
    /// master version. With the server's dates, of a file.
    case batchCommitted(MasterVersion, creationDate: WireDate?, updateDate: WireDate?)
    /// A commit, with the number of changes that it contained.
    case committed(numberUploadsTransferred: Int)
    case fileDownloaded(FileDownload)
    case appMetaDataDownloaded(String)
    /// Out of reach for good: an upload was refused, or a download brings no contents.
    case gone(GoneReason, appMetaData: String?, CloudStorageType?)
    /// Another master version; nothing was done.
    case stale(current: MasterVersion)
    case failed(RequestFailure)

    /// A file that arrived, verified, as a file of the library's.
    package struct FileDownload: Sendable {
        /// Where it is.
        package let location: LocalFileLocation
        /// The text; nil if there is none.
        package let appMetaData: String?
        /// The storage in which the file is.
        package let cloudStorageType: CloudStorageType
        /// Whether the bytes were changed in the cloud behind the server's back.
        package let contentsChanged: Bool

        /// Puts it together.
        package init(
            location: LocalFileLocation, appMetaData: String?, cloudStorageType: CloudStorageType, contentsChanged: Bool
        ) {
            self.location = location
            self.appMetaData = appMetaData
            self.cloudStorageType = cloudStorageType
            self.contentsChanged = contentsChanged
        }
    }
}

/// Why a request has no result, after all that could be repeated was repeated.
package enum RequestFailure: Error, Sendable, Equatable {
    /// No complete reply; the server may have carried it out.
    case unreachable
    /// 503, with what the server or its stand-in says.
    case serverDown(message: String?)
    /// Any other status, with the server's code if it gave one.
    case refused(status: Int, code: String?)
    /// The credentials do not count, and could not be refreshed.
    case signInRequired
    /// The server is older than the app demands.
    case serverTooOld
    /// The file to upload is missing, unreadable, or not the one that was queued.
    case localFile
    /// The library's own database cannot be read or written.
    case localStore
    /// Somebody else is signed in than the one whose files the store has.
    case differentUser
}

extension RequestFailure {
    /// Whether the server refused the request with that code.
    func isRefusal(_ code: ErrorCode) -> Bool { self == .refused(status: code.status, code: code.rawValue) }
}

extension ErrorCode {
    /// Codes as they come in replies, which may hold others.
    static func rawValues(_ codes: [ErrorCode]) -> Set<String> { Set(codes.map(\.rawValue)) }
}
