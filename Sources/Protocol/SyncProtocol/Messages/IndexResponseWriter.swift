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
