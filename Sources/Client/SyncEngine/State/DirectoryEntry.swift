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
    /// Whether the app does not have the contents, and follows only the index: ``fileVersion`` is then the server's. With
    /// ``forceDownload``, the app has requested them. Only in groups whose files are, or were, downloaded on demand.
    package var isIndexOnly = false
    /// The priority of the app's last request.
    package var downloadPriority = DownloadPriority.normal
    /// The size in bytes of the contents that the app has; nil if unknown.
    package var contentBytes: Int64?
    /// When the app last used its contents, as far as the library knows.
    package var usedAt: WireDate?

    /// Creates an entry for a file that the client has just learned about.
    package init(fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID) {
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
    }

    package var key: FileUUID { fileUUID }

    /// Index keys of the table.
    package enum IndexKey: Hashable, Sendable {
        /// Files of a sharing group whose contents must be downloaded even in the same version, once the whole index has
        /// shown their state.
        case wanted(SharingGroupUUID)
        /// Files of a sharing group of which only the index was followed until the app requested the contents.
        case requested(SharingGroupUUID)
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
        var keys: [IndexKey] = []
        if forceDownload { keys.append(isIndexOnly ? .requested(sharingGroupUUID) : .wanted(sharingGroupUUID)) }
        if goneReason != nil { keys.append(.gone(sharingGroupUUID)) }
        if isAwaited { keys.append(.awaited(sharingGroupUUID)) }
        if isWaiting { keys.append(.waiting(sharingGroupUUID)) }
        if newerVersion != nil { keys.append(.newer(sharingGroupUUID)) }
        return keys
    }

    /// Whether the contents are out of reach only until they are uploaded again.
    package var isAwaited: Bool { goneReason != nil && awaitingReupload }

    /// Whether contents that this device may have are missing from the server.
    private var isWaiting: Bool {
        awaitingReupload && !isIndexOnly && goneReason == nil && !deletedOnServer && fileVersion != nil
    }

    /// The version of the text that the server has; nil if it has none.
    package var textVersion: AppMetaDataVersion? {
        appMetaData.flatMap { $0.version == Self.noTextVersion ? nil : $0.version }
    }

    /// The version of a text that the server no longer has: the next version is the first.
    package static let noTextVersion = AppMetaDataVersion(AppMetaDataVersion.first.rawValue - 1)

    /// Keeps the text, but marks it as missing on the server or of uncertain version.
    mutating func forgetTextVersion() {
        appMetaData = appMetaData.map { AppMetaData(version: Self.noTextVersion, contents: $0.contents) }
    }

    /// The file as apps see it.
    package var attributes: SyncAttributes {
        var attributes = SyncAttributes(
            fileUUID: fileUUID, sharingGroupUUID: sharingGroupUUID, mimeType: mimeType, fileGroupUUID: fileGroupUUID,
            creationDate: creationDate, updateDate: updateDate)
        attributes.appMetaData = appMetaData?.contents
        attributes.gone = goneReason
        attributes.awaitingReupload = awaitingReupload
        attributes.isIndexOnly = isIndexOnly
        attributes.isRequested = isIndexOnly && forceDownload
        return attributes
    }
}

/// A sharing group as the client last knew it.
package struct SharingEntry: TableRow {
    /// The group.
    package let sharingGroupUUID: SharingGroupUUID
    /// Free text; nil if the group has no name.
    package var name: String?
    /// The user's permission.
    package var permission: Permission
    /// The server's master version, as last reported.
    package var masterVersion: MasterVersion = .initial
    /// The storage of the user's host in this group; nil for users with their own storage, and for users without a
    /// host.
    package var cloudStorageType: CloudStorageType?
    /// Whether others have made changes that have not been downloaded yet.
    package var syncNeeded = false
    /// Whether the user is not, or is no longer, a member.
    package var removedFromGroup = false
    /// Whether the group's creation was queued, and the server does not have it yet.
    package var creationPending = false
    /// All changes up to this master version are in the directory; nil if the next index must be complete.
    package var indexedVersion: MasterVersion?
    /// The server's restore mark, as last reported.
    package var restoreMark: RestoreMark?
    /// If the server was restored from a backup, and the files have not been compared since: the last master version
    /// known before.
    package var versionBeforeRestore: MasterVersion?
    /// Together with ``versionBeforeRestore``: the master version of the backup; nil if the server does not report it.
    package var restoredVersion: MasterVersion?
    /// Which contents this device downloads.
    package var downloadPolicy = DownloadPolicy.automatic
    /// Whether the app may lack contents, because the policy became automatic and not all have been downloaded since.
    package var downloadsRest = false

    /// Creates an entry for a group that the client has just learned about.
    package init(sharingGroupUUID: SharingGroupUUID, name: String?, permission: Permission) {
        self.sharingGroupUUID = sharingGroupUUID
        self.name = name
        self.permission = permission
    }

    package var key: SharingGroupUUID { sharingGroupUUID }

    /// The group as apps see it.
    package var sharingGroup: SharingGroup {
        SharingGroup(
            sharingGroupUUID: sharingGroupUUID, sharingGroupName: name, permission: permission, syncNeeded: syncNeeded,
            downloadPolicy: downloadPolicy)
    }
}
