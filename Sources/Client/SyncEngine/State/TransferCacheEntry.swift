package import SyncProtocol

/// A download that is complete, and whose result was not used yet.
///
/// Bytes of a version never change, so they are good also after a change of the master version, and after a relaunch.
package struct TransferCacheEntry: TableRow {
    /// What a reply said beside the bytes.
    package struct Reply: Sendable, Equatable {
        /// The version of the text that was asked for.
        package var appMetaDataVersion: AppMetaDataVersion?
        /// The text.
        package var appMetaData: String?
        /// The storage in which the file is.
        package var cloudStorageType: CloudStorageType?
        /// Whether the bytes were changed in the cloud behind the server's back.
        package var contentsChanged = false

        /// A reply that says nothing.
        package init() {}
    }

    /// The entry.
    package let id: RowID<TransferCacheEntry>
    /// The file.
    package let fileUUID: FileUUID
    /// The version of the contents.
    package let fileVersion: FileVersion
    /// What the reply said.
    package let reply: Reply
    /// Where the bytes are; belongs to the library.
    package let location: LocalFileLocation
    /// When it was stored; too old ones go.
    package let cachedAt: WireDate

    /// How long an entry is kept, in seconds: five days.
    package static let lifetimeSeconds: Int64 = 5 * 86_400

    /// Puts it together.
    package init(
        id: RowID<TransferCacheEntry>, fileUUID: FileUUID, fileVersion: FileVersion, reply: Reply,
        location: LocalFileLocation, cachedAt: WireDate
    ) {
        self.id = id
        self.fileUUID = fileUUID
        self.fileVersion = fileVersion
        self.reply = reply
        self.location = location
        self.cachedAt = cachedAt
    }

    package var key: RowID<TransferCacheEntry> { id }

    package var indexKeys: [FileUUID] { [fileUUID] }
}
