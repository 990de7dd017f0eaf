internal import MariaDB
public import SyncProtocol

/// The outbox records the versions whose objects wait for their deletion: versions replaced by newer ones, and those of
/// deleted files.
extension StoreSession {
    /// Schedules the deletion of the object of a file's current version from `availableAt` on, unless a row refers to
    /// it by then; call when the file no longer refers to it. Until then ``replacedVersion(_:of:in:)`` finds it.
    mutating func addDeletion(
        ofContentOf file: FileRecord, in groupID: SharingGroupID, availableAt: WireDate, at now: WireDate
    ) throws(StoreError) {
        guard !file.isDeleted, file.contentState == .stored else { return }
        let object = ObjectReference(
            objectID: file.objectID, names: file.objectID == nil ? [file.nameByOlderServer.rawValue] : [])
        try add(
            .deleteObject(object), of: file.owningUser, availableAt: availableAt, at: now,
            details: [
                "sharing_group_id": .int(groupID.rawValue), "file_uuid": .text(file.fileUUID.rawValue),
                "file_version": .int(Int64(file.fileVersion.rawValue)),
                "check_sum": .text(orNull: file.checkSum?.rawValue), "size_bytes": .int(orNull: file.sizeBytes),
                "object_revision": .text(orNull: file.objectRevision),
                "provider_hash": .text(orNull: file.providerHash),
            ])
    }

    /// An earlier version of a file, as long as its object waits for its deletion.
    ///
    /// - Parameter current: the file's row, the source of what is not stored for an earlier version.
    /// - Returns: the earlier version with its contents, and everything else as in `current`; `nil` if the object is
    ///   gone, or was never identified.
    public mutating func replacedVersion(
        _ version: FileVersion, of current: FileRecord, in groupID: SharingGroupID
    ) throws(StoreError) -> FileRecord? {
        try first(
            """
            SELECT user_id, storage_type, check_sum, size_bytes, object_id, object_revision, provider_hash
              FROM outbox
             WHERE file_uuid = ?
               AND file_version = ?
               AND sharing_group_id = ?
               AND kind = 'deleteObject'
               AND object_id IS NOT NULL
             LIMIT 1
            """,
            [.text(current.fileUUID.rawValue), .int(Int64(version.rawValue)), .int(groupID.rawValue)]
        ) { row throws(StoreError) in
            var file = current
            file.fileVersion = version
            file.owningUser = OwningUser(
                userID: UserID(try row.number("user_id")), storageType: try row.word("storage_type"))
            file.checkSum = try row.optionalIdentifier("check_sum")
            file.sizeBytes = try row.optionalNumber("size_bytes")
            file.objectID = try row.optionalString("object_id")
            file.objectRevision = try row.optionalString("object_revision")
            file.providerHash = try row.optionalString("provider_hash")
            return file
        }
    }
}
