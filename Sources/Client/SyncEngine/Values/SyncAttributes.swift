public import SyncProtocol

/// A file's identity and description, as apps pass and receive it.
public struct SyncAttributes: Sendable, Hashable {
    /// The file.
    public var fileUUID: FileUUID
    /// The sharing group that the file permanently belongs to.
    public var sharingGroupUUID: SharingGroupUUID
    /// The type of the contents; required for uploads. Nil if the library does not know it.
    public var mimeType: MIMEType?
    /// The group of files that belong together; used only in the first upload of a file.
    public var fileGroupUUID: FileGroupUUID?
    /// When the file was first uploaded, by the server's clock; ignored in uploads.
    public var creationDate: WireDate?
    /// When its contents were last uploaded, by the server's clock; ignored in uploads.
    public var updateDate: WireDate?
    /// The app's own text about the file. In an upload, nil keeps the current text.
    public var appMetaData: String?
    /// Why this operation could not be carried out; ignored in uploads.
    public var gone: GoneReason?
    /// Whether the contents are missing from the server until a device uploads them again, because their owner has
    /// switched accounts. They are then delivered if the app does not have them. Ignored in uploads.
    public var awaitingReupload = false

    /// Creates attributes.
    public init(
        fileUUID: FileUUID, sharingGroupUUID: SharingGroupUUID, mimeType: MIMEType?,
        fileGroupUUID: FileGroupUUID? = nil, creationDate: WireDate? = nil, updateDate: WireDate? = nil
    ) {
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
        self.mimeType = mimeType
        self.fileGroupUUID = fileGroupUUID
        self.creationDate = creationDate
        self.updateDate = updateDate
    }
}
