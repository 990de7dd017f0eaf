/// A file in the replies to Index (committed) and GetUploads (staged).
public struct FileInfo: Sendable, Hashable, Decodable {
    /// The file.
    public var fileUUID: FileUUID
    /// Index: the device that uploaded the current version.
    public var deviceUUID: DeviceUUID?
    /// The group of files that belong together.
    public var fileGroupUUID: FileGroupUUID?
    /// The group.
    public var sharingGroupUUID: SharingGroupUUID
    /// When version 0 was staged. If it is present, `updateDate` must be too.
    public var creationDate: WireDate?
    /// When the current contents were staged.
    public var updateDate: WireDate?
    /// The type of the contents; absent for staged deletions and metadata.
    public var mimeType: MIMEType?
    /// Whether the file is deleted or, if staged, will be deleted.
    public var deleted: Bool
    /// The version of the app metadata; absent if there is none.
    public var appMetaDataVersion: AppMetaDataVersion?
    /// The version of the contents; absent for staged metadata.
    public var fileVersion: FileVersion?
    /// Index: the user whose storage holds the file.
    public var owningUserId: UserID?
    /// Index: the kind of that storage.
    public var cloudStorageType: CloudStorageType?
    /// Index: whether the file waits for its bytes because its owner has switched accounts.
    public var awaitingReupload = false
    /// GetUploads: the batch that the change belongs to.
    public var batchUUID: BatchUUID?

    /// Creates a file from the required fields; the others are set afterwards.
    public init(fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID, deleted: Bool) {
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
        self.deleted = deleted
    }

    private enum CodingKeys: String, CodingKey {
        case fileUUID, deviceUUID, fileGroupUUID, sharingGroupUUID, creationDate, updateDate, mimeType, deleted
        case appMetaDataVersion, fileVersion, owningUserId, cloudStorageType, batchUUID, awaitingReupload
    }

    /// Decodes an element of the list; a storage that this version does not know is treated as missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        fileUUID = try container.decode(FileUUID.self, forKey: .fileUUID)
        deviceUUID = try container.decodeIfPresent(DeviceUUID.self, forKey: .deviceUUID)
        fileGroupUUID = try container.decodeIfPresent(FileGroupUUID.self, forKey: .fileGroupUUID)
        sharingGroupUUID = try container.decode(SharingGroupUUID.self, forKey: .sharingGroupUUID)
        creationDate = try container.decodeIfPresent(WireDate.self, forKey: .creationDate)
        updateDate = try container.decodeIfPresent(WireDate.self, forKey: .updateDate)
        mimeType = try container.decodeIfPresent(MIMEType.self, forKey: .mimeType)
        deleted = try container.decodeIfPresent(Bool.self, forKey: .deleted) ?? false
        appMetaDataVersion = try container.decodeIfPresent(AppMetaDataVersion.self, forKey: .appMetaDataVersion)
        fileVersion = try container.decodeIfPresent(FileVersion.self, forKey: .fileVersion)
        owningUserId = try container.decodeIfPresent(UserID.self, forKey: .owningUserId)
        cloudStorageType = try container.knownWord(.cloudStorageType)
        awaitingReupload = try container.decodeIfPresent(Bool.self, forKey: .awaitingReupload) ?? false
        batchUUID = try container.decodeIfPresent(BatchUUID.self, forKey: .batchUUID)
    }

    /// Writes the file as one object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("fileUUID", fileUUID)
            writer.field("deviceUUID", deviceUUID)
            writer.field("fileGroupUUID", fileGroupUUID)
            writer.field("sharingGroupUUID", sharingGroupUUID)
            writer.field("creationDate", creationDate)
            writer.field("updateDate", updateDate)
            writer.field("mimeType", text: mimeType?.rawValue)
            writer.field("deleted", deleted)
            writer.field("appMetaDataVersion", appMetaDataVersion)
            writer.field("fileVersion", fileVersion)
            writer.field("owningUserId", owningUserId)
            writer.field("cloudStorageType", cloudStorageType)
            if awaitingReupload { writer.field("awaitingReupload", true) }
            writer.field("batchUUID", batchUUID)
        }
    }
}
