package import SyncProtocol

/// A file as the client last knew it.
package struct DirectoryEntry: TableRow {
    /// The file.
    package let fileUUID: FileUUID
    /// The sharing group that it permanently belongs to.
    package let sharingGroupUUID: SharingGroupUUID
    /// The file group that it permanently belongs to, if any.
    package var fileGroupUUID: FileGroupUUID?
    /// The type of the contents.
    package var mimeType: MIMEType?
    /// The storage that holds it; nil until the server has reported it.
    package var cloudStorageType: CloudStorageType?
    /// The version that the app has or has rejected; nil before the first commit or delivery.
    package var fileVersion: FileVersion?
    /// The app's text; nil if the file has none.
    package var appMetaData: AppMetaData?
    /// When version 0 was uploaded.
    package var creationDate: WireDate?
    /// When the contents were last uploaded.
    package var updateDate: WireDate?
    /// Whether the app knows that the file is deleted.
    package var deletedLocally = false
    /// Whether the file is deleted on the server.
    package var deletedOnServer = false
    /// Why the contents are out of reach; then ``fileVersion`` is the server's, although the app does not have it.
    package var goneReason: GoneReason?
    /// The user whose storage has it; nil until the server has reported it.
    package var owningUserID: UserID?
    /// Whether the contents are missing from the server because their owner has switched accounts. If they are also out
    /// of reach, they are downloaded as soon as the server has them again.
    package var awaitingReupload = false
    /// Whether the contents must be downloaded even in the same version.
    package var forceDownload = false
    /// The app's version, if it counts as newer than the server's: the server was restored from a backup, or others
    /// deleted the file while its file group is kept here. The library asks the app for the contents, and uploads them
    /// as the version after ``fileVersion``. For a file that is deleted here: the deleted version.
    package var newerVersion: FileVersion?

    /// Creates an entry for a file that the client has just learned about.
    package init(fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID) {
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
    }

    package var key: FileUUID { fileUUID }

    /// Index keys of the table.
    package enum IndexKey: Hashable, Sendable {
        /// Files of a sharing group whose contents must be downloaded even in the same version.
        case wanted(SharingGroupUUID)
        /// Files of a sharing group that are out of reach.
        case gone(SharingGroupUUID)
        /// Files of a sharing group that will be downloaded as soon as the server has them again.
        case awaited(SharingGroupUUID)
        /// Files of a sharing group whose contents are missing from the server, but not from this device.
        case waiting(SharingGroupUUID)
        /// Files of a sharing group whose local state is newer than the server's.
        case newer(SharingGroupUUID)
    }

    package var indexKeys: [IndexKey] {
        (forceDownload ? [.wanted(sharingGroupUUID)] : []) + (goneReason != nil ? [.gone(sharingGroupUUID)] : [])
            + (isAwaited ? [.awaited(sharingGroupUUID)] : []) + (isWaiting ? [.waiting(sharingGroupUUID)] : [])
            + (newerVersion != nil ? [.newer(sharingGroupUUID)] : [])
    }

    /// Whether the contents are out of reach only until they are uploaded again.
    package var isAwaited: Bool { goneReason != nil && awaitingReupload }

    /// Whether contents that this device may have are missing from the server.
    private var isWaiting: Bool { awaitingReupload && goneReason == nil && !deletedOnServer && fileVersion != nil }

    /// The version of the text that the server has; nil if it has none.
    package var textVersion: AppMetaDataVersion? {
        appMetaData.flatMap { $0.version == Self.noTextVersion ? nil : $0.version }
    }

    /// The version of a text that the server no longer has: the next version is the first.
    package static let noTextVersion = AppMetaDataVersion(AppMetaDataVersion.first.rawValue - 1)

    /// The file as apps see it.
    package var attributes: SyncAttributes {
        var attributes = SyncAttributes(
            fileUUID: fileUUID, sharingGroupUUID: sharingGroupUUID, mimeType: mimeType, fileGroupUUID: fileGroupUUID,
            creationDate: creationDate, updateDate: updateDate)
        attributes.appMetaData = appMetaData?.contents
        attributes.gone = goneReason
        attributes.awaitingReupload = awaitingReupload
        return attributes
    }
}
