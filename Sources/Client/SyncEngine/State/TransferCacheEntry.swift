package import SyncProtocol

/// A completed download whose result has not been used yet.
///
/// The contents of a version never change, so they remain valid after a change of the master version, and after a
/// relaunch.
package struct TransferCacheEntry: TableRow {
    /// The information in a reply other than the contents.
    package struct Reply: Sendable, Equatable {
        /// The requested version of the text.
        package var appMetaDataVersion: AppMetaDataVersion?
        /// The text.
        package var appMetaData: String?
        /// The storage that holds the file.
        package var cloudStorageType: CloudStorageType?
        /// Whether the contents were changed in the cloud directly, without the server.
        package var contentsChanged = false

        /// An empty reply.
        package init() {}
    }

    /// The entry.
    package let id: RowID<TransferCacheEntry>
    /// The file.
    package let fileUUID: FileUUID
    /// The version of the contents.
    package let fileVersion: FileVersion
    /// The information in the reply.
    package let reply: Reply
    /// The location of the contents; owned by the library.
    package let location: LocalFileLocation
    /// When it was stored; expired entries are removed.
    package let cachedAt: WireDate

    /// How long an entry is kept, in seconds: five days.
    package static let lifetimeSeconds: Int64 = 5 * 86_400

    /// Creates an entry.
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
