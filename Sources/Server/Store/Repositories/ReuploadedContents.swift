internal import MariaDB
public import SyncProtocol

/// Files whose bytes are uploaded again.
extension StoreSession {
    /// Stores the location of the newly uploaded bytes of a version; version, dates and master version stay. Call in a
    /// transaction that holds the group exclusively, and that has found the row without contents.
    /// - Parameter device: the device that uploaded them, whose name is part of the object's.
    public mutating func restoreContent(
        _ content: StoredContent, of file: FileUUID, from device: DeviceUUID, in groupID: SharingGroupID
    ) throws(StoreError) {
        let row =
            content.columnValues + [
                "device_uuid": .text(device.rawValue), "content_state": .text(ContentState.stored.rawValue),
            ]
        try execute(
            """
            UPDATE files
               SET \(assigning: row.columns)
             WHERE sharing_group_id = ?
               AND file_uuid = ?
            """, row.values + [.int(groupID.rawValue), .text(file.rawValue)])
        try dropMovingContent(of: file, in: groupID)
        try execute(
            "UPDATE sharing_groups SET reuploads = reuploads + 1 WHERE sharing_group_id = ?",
            [.int(groupID.rawValue)])
    }

    /// SHA-256 of the bytes of a file's version, if it is known.
    public mutating func sha256(of file: FileUUID, in groupID: SharingGroupID) throws(StoreError) -> [UInt8]? {
        try first(
            "SELECT sha256 FROM files WHERE sharing_group_id = ? AND file_uuid = ?",
            [.int(groupID.rawValue), .text(file.rawValue)]
        ) { row throws(StoreError) in try row.optionalData("sha256") } ?? nil
    }
}
