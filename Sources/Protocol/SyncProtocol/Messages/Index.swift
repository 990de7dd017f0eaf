/// Lists the caller's sharing groups, and the files of one of them if requested.
public struct IndexRequest: RequestMessage {
    public typealias Response = IndexResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.index
    public static let fields = QueryFields(
        Self.init,
        .optional(.sharingGroupUUID, \.sharingGroupUUID),
        .optional(.since, \.since, onlyWith: .sharingGroupUUID),
        .optional(.testServerSleep, \.testServerSleep))

    /// The group whose files are requested.
    public let sharingGroupUUID: SharingGroupUUID?
    /// Requests only files that changed after this master version. Only with a group.
    public let since: MasterVersion?
    /// Debug only: seconds to wait before replying.
    public let testServerSleep: Int32?

    /// Creates a request.
    public init(
        sharingGroupUUID: SharingGroupUUID? = nil, since: MasterVersion? = nil, testServerSleep: Int32? = nil
    ) {
        self.sharingGroupUUID = sharingGroupUUID
        self.since = since
        self.testServerSleep = testServerSleep
    }
}

/// Lists the caller's groups, and the files of one of them if requested.
///
/// Servers normally write it with ``IndexResponseWriter``, without holding all files in memory.
public struct IndexResponse: ResponseMessage {
    /// The files of a group together with their master version.
    public struct Files: Sendable, Hashable {
        /// The master version that exactly describes the listed files.
        public let masterVersion: MasterVersion
        /// If present, only what changed after this master version is listed; otherwise all files are.
        public let since: MasterVersion?
        /// The files of the group, including deleted ones.
        public let fileIndex: [FileInfo]

        /// Creates a list of files.
        public init(masterVersion: MasterVersion, since: MasterVersion? = nil, fileIndex: [FileInfo]) {
            self.masterVersion = masterVersion
            self.since = since
            self.fileIndex = fileIndex
        }
    }

    /// Only if a group was requested.
    public let files: Files?
    /// All groups of the caller; a missing group means that the client's user was removed from it.
    public let sharingGroups: [SharingGroupInfo]

    private enum CodingKeys: String, CodingKey {
        case masterVersion, since, fileIndex, sharingGroups
    }

    /// Creates a response.
    public init(files: Files?, sharingGroups: [SharingGroupInfo]) {
        self.files = files
        self.sharingGroups = sharingGroups
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        sharingGroups = try container.decode([SharingGroupInfo].self, forKey: .sharingGroups)
        files = try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersion).map { masterVersion in
            Files(
                masterVersion: masterVersion,
                since: try container.decodeIfPresent(MasterVersion.self, forKey: .since),
                fileIndex: try container.decodeIfPresent([FileInfo].self, forKey: .fileIndex) ?? [])
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if let files {
                writer.field("masterVersion", files.masterVersion)
                writer.field("since", files.since)
                writer.key("fileIndex")
                writer.array { writer in
                    for file in files.fileIndex { file.write(to: &writer) }
                }
            }
            writer.key("sharingGroups")
            writer.array { writer in
                for group in sharingGroups { group.write(to: &writer) }
            }
        }
    }
}

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

/// Writes the reply to Index as the rows arrive from the database, without creating a value for each.
///
/// The order of calls: ``init(reservingBytes:)``; if a group was requested, ``beginFiles(masterVersion:)``, then for
/// each row ``beginFile()``, its fields and ``endFile()``, then ``endFiles()``; then ``beginGroups()``, all groups, and
/// ``finish()``. To omit an optional field, do not call its method. Texts are UTF-8.
public struct IndexResponseWriter: Sendable {
    /// The text written so far; may be drained between two rows.
    public var json: JSONWriter

    /// Starts the reply.
    public init(reservingBytes: Int = 4_096) {
        json = JSONWriter(reservingBytes: reservingBytes)
        json.beginObject()
    }

    /// Starts the list of the files of the requested group.
    /// - Parameter since: if given, the list contains only what changed after this master version.
    public mutating func beginFiles(masterVersion: MasterVersion, since: MasterVersion? = nil) {
        json.key(Key.masterVersion)
        json.value(masterVersion.rawValue)
        json.field(Key.since, since)
        json.key(Key.fileIndex)
        json.beginArray()
    }

    /// Starts one file.
    public mutating func beginFile() {
        json.beginObject()
    }

    /// The file; required.
    public mutating func fileUUID(_ text: borrowing RawSpan) {
        json.field(Key.fileUUID, text: text)
    }

    /// The device that uploaded the current version.
    public mutating func deviceUUID(_ text: borrowing RawSpan) {
        json.field(Key.deviceUUID, text: text)
    }

    /// Only if the file is in a file group.
    public mutating func fileGroupUUID(_ text: borrowing RawSpan) {
        json.field(Key.fileGroupUUID, text: text)
    }

    /// The group.
    public mutating func sharingGroupUUID(_ text: borrowing RawSpan) {
        json.field(Key.sharingGroupUUID, text: text)
    }

    /// The group; the same for all rows, so it may be passed as text that was created once.
    public mutating func sharingGroupUUID(_ group: SharingGroupUUID) {
        json.field(Key.sharingGroupUUID, text: group.rawValue)
    }

    /// When version 0 was staged.
    public mutating func creationDate(_ date: WireDate) {
        json.field(Key.creationDate, date)
    }

    /// When version 0 was staged, as `yyyy-MM-dd HH:mm:ss` UTC from the database.
    public mutating func creationDate(_ text: borrowing RawSpan) {
        json.field(Key.creationDate, text: text)
    }

    /// When the current contents were staged.
    public mutating func updateDate(_ date: WireDate) {
        json.field(Key.updateDate, date)
    }

    /// When the current contents were staged, as `yyyy-MM-dd HH:mm:ss` UTC from the database.
    public mutating func updateDate(_ text: borrowing RawSpan) {
        json.field(Key.updateDate, text: text)
    }

    /// The type of the contents; required.
    public mutating func mimeType(_ text: borrowing RawSpan) {
        json.field(Key.mimeType, text: text)
    }

    /// Whether the file is deleted; required.
    public mutating func deleted(_ isDeleted: Bool) {
        json.field(Key.deleted, isDeleted)
    }

    /// Only if the file has app metadata.
    public mutating func appMetaDataVersion(_ version: AppMetaDataVersion) {
        json.field(Key.appMetaDataVersion, version)
    }

    /// The version of the contents; required.
    public mutating func fileVersion(_ version: FileVersion) {
        json.field(Key.fileVersion, version)
    }

    /// The user whose storage holds the file.
    public mutating func owningUserID(_ user: UserID) {
        json.field(Key.owningUserID, user)
    }

    /// The kind of that storage; required.
    public mutating func cloudStorageType(_ type: CloudStorageType) {
        json.field(Key.cloudStorageType, type)
    }

    /// Only for a file whose bytes must be uploaded again because its owner has switched accounts.
    public mutating func awaitingReupload() {
        json.field(Key.awaitingReupload, true)
    }

    /// Ends one file.
    public mutating func endFile() {
        json.endObject()
    }

    /// Ends the list of files.
    public mutating func endFiles() {
        json.endArray()
    }

    /// Starts the list of groups; required.
    public mutating func beginGroups() {
        json.key(Key.sharingGroups)
        json.beginArray()
    }

    /// Writes one group, with its members.
    public mutating func group(_ group: SharingGroupInfo) {
        group.write(to: &json)
    }

    /// Ends the list of groups, and the reply; ``json`` now contains everything that was not drained.
    public mutating func finish() {
        json.endArray()
        json.endObject()
    }

    private enum Key {
        static let masterVersion = JSONKey(text: #""masterVersion":"#)
        static let since = JSONKey(text: #""since":"#)
        static let fileIndex = JSONKey(text: #""fileIndex":"#)
        static let sharingGroups = JSONKey(text: #""sharingGroups":"#)
        static let fileUUID = JSONKey(text: #""fileUUID":"#)
        static let deviceUUID = JSONKey(text: #""deviceUUID":"#)
        static let fileGroupUUID = JSONKey(text: #""fileGroupUUID":"#)
        static let sharingGroupUUID = JSONKey(text: #""sharingGroupUUID":"#)
        static let creationDate = JSONKey(text: #""creationDate":"#)
        static let updateDate = JSONKey(text: #""updateDate":"#)
        static let mimeType = JSONKey(text: #""mimeType":"#)
        static let deleted = JSONKey(text: #""deleted":"#)
        static let appMetaDataVersion = JSONKey(text: #""appMetaDataVersion":"#)
        static let fileVersion = JSONKey(text: #""fileVersion":"#)
        static let owningUserID = JSONKey(text: #""owningUserId":"#)
        static let awaitingReupload = JSONKey(text: #""awaitingReupload":"#)
        static let cloudStorageType = JSONKey(text: #""cloudStorageType":"#)
    }
}
