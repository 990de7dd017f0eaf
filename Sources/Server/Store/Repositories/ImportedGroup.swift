public import SyncProtocol

/// A sharing group of an older server, in this server's terms: the input of ``StoreSession/takeOver(_:_:digest:at:)``.
public struct ImportedGroup: Equatable, Sendable, Codable {
    public struct Member: Equatable, Sendable, Codable {
        public var userID: UserID
        /// For members without storage.
        public var owningUserID: UserID?
        public var permission: Permission

        public init(userID: UserID, owningUserID: UserID?, permission: Permission) {
            self.userID = userID
            self.owningUserID = owningUserID
            self.permission = permission
        }
    }

    /// A committed file, with an object known by name only.
    public struct File: Equatable, Sendable, Codable {
        public var fileUUID: FileUUID
        public var fileGroupUUID: FileGroupUUID?
        public var owningUserID: UserID
        public var storageType: CloudStorageType
        public var deviceUUID: DeviceUUID
        public var createdAt: WireDate
        public var updatedAt: WireDate
        public var mimeType: MIMEType
        public var appMetaData: String?
        public var appMetaDataVersion: AppMetaDataVersion?
        public var isDeleted: Bool
        public var fileVersion: FileVersion
        public var checkSum: CheckSum?

        public init(
            fileUUID: FileUUID, fileGroupUUID: FileGroupUUID?, owningUserID: UserID, storageType: CloudStorageType,
            deviceUUID: DeviceUUID, createdAt: WireDate, updatedAt: WireDate, mimeType: MIMEType, appMetaData: String?,
            appMetaDataVersion: AppMetaDataVersion?, isDeleted: Bool, fileVersion: FileVersion, checkSum: CheckSum?
        ) {
            self.fileUUID = fileUUID
            self.fileGroupUUID = fileGroupUUID
            self.owningUserID = owningUserID
            self.storageType = storageType
            self.deviceUUID = deviceUUID
            self.createdAt = createdAt
            self.updatedAt = updatedAt
            self.mimeType = mimeType
            self.appMetaData = appMetaData
            self.appMetaDataVersion = appMetaDataVersion
            self.isDeleted = isDeleted
            self.fileVersion = fileVersion
            self.checkSum = checkSum
        }
    }

    public var groupUUID: SharingGroupUUID
    public var name: String?
    /// The minimum version that members must see.
    public var masterVersion: MasterVersion
    public var isDeleted: Bool
    public var members: [Member]
    public var files: [File]

    public init(
        groupUUID: SharingGroupUUID, name: String?, masterVersion: MasterVersion, isDeleted: Bool, members: [Member],
        files: [File]
    ) {
        self.groupUUID = groupUUID
        self.name = name
        self.masterVersion = masterVersion
        self.isDeleted = isDeleted
        self.members = members
        self.files = files
    }
}

/// An older server's work in progress for a group: not visible to members, so it does not count as a change.
public struct ImportedWork: Equatable, Sendable {
    public struct Invitation: Equatable, Sendable {
        public var invitation: SharingInvitationUUID
        public var owningUserID: UserID
        public var permission: Permission
        public var allowsSocialAcceptance: Bool
        public var acceptors: Int
        public var expires: WireDate

        public init(
            invitation: SharingInvitationUUID, owningUserID: UserID, permission: Permission,
            allowsSocialAcceptance: Bool, acceptors: Int, expires: WireDate
        ) {
            self.invitation = invitation
            self.owningUserID = owningUserID
            self.permission = permission
            self.allowsSocialAcceptance = allowsSocialAcceptance
            self.acceptors = acceptors
            self.expires = expires
        }
    }

    public struct Upload: Equatable, Sendable {
        /// The row's number at the source; increases with time.
        public var sourceUploadID: Int64
        public var userID: UserID
        public var deviceUUID: DeviceUUID
        public var change: StagedChange

        public init(sourceUploadID: Int64, userID: UserID, deviceUUID: DeviceUUID, change: StagedChange) {
            self.sourceUploadID = sourceUploadID
            self.userID = userID
            self.deviceUUID = deviceUUID
            self.change = change
        }
    }

    public var invitations: [Invitation]
    public var uploads: [Upload]

    public init(invitations: [Invitation] = [], uploads: [Upload] = []) {
        self.invitations = invitations
        self.uploads = uploads
    }
}
