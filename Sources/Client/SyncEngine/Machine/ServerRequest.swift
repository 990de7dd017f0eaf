package import SyncProtocol

/// A file to stage. Checksum and size are determined when it is sent, since it may change until then.
package struct FileUpload: Sendable, Equatable {
    /// The file.
    package let fileUUID: FileUUID
    /// The group.
    package let sharingGroupUUID: SharingGroupUUID
    /// The type of the contents.
    package let mimeType: MIMEType
    /// 0 for a new file, otherwise the committed version plus 1.
    package let fileVersion: FileVersion
    /// The group's master version as the client knows it.
    package let masterVersion: MasterVersion
    /// Only with version 0.
    package let fileGroupUUID: FileGroupUUID?
    /// The new text with its version; nil keeps the current one.
    package let appMetaData: AppMetaData?
    /// Whether to undelete a deleted file.
    package let undeleteServerFile: Bool
    /// The location of the contents.
    package let source: LocalFileLocation
    /// Size when it was queued, in bytes; a file of another size must not be sent.
    package let fileSize: Int64?
    /// Modification time when it was queued; a file that has changed since must not be sent.
    package let fileModified: Double?
    /// Determines the kind of checksum. Nil if no user hosts the file: the server refuses it, regardless of the
    /// checksum.
    package let cloudStorageType: CloudStorageType?
    /// The batch that it belongs to; nil if it waits for a commit.
    package var batch: UploadBatch?
}

/// A committed version to upload again, after its owner has switched accounts.
package struct FileReupload: Sendable, Equatable {
    /// The file's attributes, for the app, which has the contents.
    package let attributes: SyncAttributes
    /// The committed version.
    package let fileVersion: FileVersion
    /// The owner's current storage, which determines the kind of checksum.
    package let cloudStorageType: CloudStorageType?
    /// The switch, if this device knows it.
    package let switchID: AccountSwitchID?
    /// The location of the contents, once the app has supplied it.
    package var source: LocalFileLocation?
}

/// A request to the server.
package enum ServerRequest: Sendable, Equatable {
    case index(IndexRequestParameters)
    case uploadFile(FileUpload)
    /// Several small files of one group in one request.
    case uploadSmallFiles([FileUpload])
    /// Requests the limits of such a request.
    case askForSmallFiles
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
    case reuploadFile(FileReupload)
    /// Asks whether the server itself is moving the files of a switch; nil: of the newest one.
    case askForServerMove(AccountSwitchID?)
    /// Asks for the progress of a confirmed switch of accounts, and ends it if no files are waiting.
    case settleAccountSwitch(AccountSwitchID)

    /// The parameters of an index request.
    package struct IndexRequestParameters: Sendable, Equatable {
        /// The group whose files are requested; nil for the list of groups only.
        package let sharingGroupUUID: SharingGroupUUID?
        /// Only changes after this master version are requested.
        package let since: MasterVersion?

        /// Creates the parameters.
        package init(sharingGroupUUID: SharingGroupUUID?, since: MasterVersion?) {
            self.sharingGroupUUID = sharingGroupUUID
            self.since = since
        }
    }

    /// A commit of the staged changes.
    package struct Commit: Sendable, Equatable {
        /// The group.
        package let sharingGroupUUID: SharingGroupUUID
        /// The group's master version as the client knows it.
        package let masterVersion: MasterVersion
        /// The group's new name.
        package let sharingGroupName: String?
        /// The push notification text for the other members.
        package let pushNotificationMessage: String?
        /// Lets the server recognise a retry; nil for a server that does not support it.
        package let commitID: CommitID?
        /// The number of deletions in the commit: each may take time if the server deletes from the storage before it
        /// replies.
        package let numberOfDeletions: Int
    }
}

/// The result of a request. Its kind corresponds to the kind of the request.
package enum ServerReply: Sendable {
    case index(IndexResponse)
    /// A file is staged, with the server's dates.
    case fileStaged(creationDate: WireDate, updateDate: WireDate)
    /// The results of the files of one request, in their order, as if each had been sent separately.
    case several([ServerReply])
    /// The limits of a request with small files; nil if the server does not accept such requests.
    case smallFiles(SmallFileLimits?)
    /// A text or a deletion is staged; staged changes are discarded; the group is created, or left.
    case done
    case uploads([FileInfo])
    /// A change completed its batch, or belongs to a complete batch: the whole batch is committed as this master
    /// version. Contains the server's dates for a file.
    case batchCommitted(MasterVersion, creationDate: WireDate?, updateDate: WireDate?)
    /// A commit, with the number of changes that it contained.
    case committed(numberUploadsTransferred: Int)
    case fileDownloaded(FileDownload)
    case appMetaDataDownloaded(String)
    /// Out of reach: an upload has no storage, or a download has no contents.
    case gone(GoneReason, appMetaData: String?, CloudStorageType?, awaitsReupload: Bool = false)
    case reuploaded(ReuploadResult)
    /// Whether the server itself moves files; nil if a proposal unknown to this device hides the answer.
    case serverMove(isUnderWay: Bool?)
    /// The number of files of a switch that still wait; at zero the switch is over.
    case accountSwitchSettled(numberAwaiting: Int64)
    /// The master version is stale; nothing was done.
    case stale(current: MasterVersion)
    case failed(RequestFailure)

    /// The result of uploading a version again.
    package enum ReuploadResult: Sendable, Equatable {
        /// The server has the bytes again; their number.
        case stored(bytes: Int64)
        /// The server already has them.
        case alreadyStored
        /// The file now has another version, or is deleted; the index will show that.
        case outdated
        /// The app does not have the contents.
        case notAvailable
        /// The app has different contents.
        case differentVersion
    }

    /// A downloaded, verified file that the library owns.
    package struct FileDownload: Sendable {
        /// The location of the file.
        package let location: LocalFileLocation
        /// The text, or nil.
        package let appMetaData: String?
        /// The storage that holds the file.
        package let cloudStorageType: CloudStorageType
        /// Whether the contents were changed in the cloud directly, without the server.
        package let contentsChanged: Bool
        /// The size in bytes; 0 if unknown.
        package var bytes: Int64 = 0

        /// Creates a download.
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

/// Why a request failed, after all possible retries.
package enum RequestFailure: Error, Sendable, Equatable {
    /// No complete reply; the server may have processed the request.
    case unreachable
    /// 503, with the message of the server or its stand-in, and the wait that the reply requests, if any.
    case serverDown(message: String?, retryAfter: Duration? = nil)
    /// Any other status, with the server's code, if any, and the wait that the reply requests, if any.
    case refused(status: Int, code: String?, retryAfter: Duration? = nil)
    /// The credentials are not accepted, and could not be refreshed.
    case signInRequired
    /// The credentials are valid, but the server has no user for them.
    case noUser
    /// The server is older than the app requires.
    case serverTooOld
    /// The file to upload is missing, unreadable, or differs from the queued one.
    case localFile
    /// The library's own database cannot be read or written.
    case localStore
    /// A user other than the store's owner is signed in.
    case differentUser
    /// The user has switched to another account; its type if the server reports it.
    case accountRetired(AccountType?, undoUntil: WireDate? = nil)
}

extension RequestFailure {
    /// Whether the server refused the request with that code.
    package func isRefusal(_ code: ErrorCode) -> Bool {
        if case .refused(code.status, code.rawValue, _) = self { true } else { false }
    }

    /// The class of the failure, which determines the treatment of a change.
    var refusalClass: RefusalClass {
        switch self {
        case .refused(let status, let code, _):
            code.flatMap(ErrorCode.init(rawValue:))?.refusalClass ?? RefusalClass(status: status)
        case .localFile: .file
        case .signInRequired, .noUser, .serverTooOld, .differentUser, .accountRetired: .caller
        case .unreachable, .serverDown, .localStore: .world
        }
    }
}

extension ErrorCode {
    /// Codes as they appear in replies, which may contain unknown ones.
    static func rawValues(_ codes: [ErrorCode]) -> Set<String> { Set(codes.map(\.rawValue)) }
}
