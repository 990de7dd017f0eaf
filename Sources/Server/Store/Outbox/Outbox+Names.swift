import MariaDB
public import SyncProtocol

/// If names are unique and objects are identified only afterwards, two uploads could refer to the same object; these
/// queries prevent its deletion for one of them while the other relies on it.
extension StoreSession {
    /// Whether another row of the outbox has the same first name, or concerns a version whose object had that name.
    /// Call after the upload's own row has been committed: of two uploads that begin at once, at least one detects the
    /// other.
    public mutating func isNamedElsewhere(
        _ name: String, of owner: OwningUser, than item: OutboxID
    ) throws(StoreError) -> Bool {
        let upload = try first(
            """
            SELECT 1
              FROM outbox
             WHERE user_id = ?
               AND object_id IS NULL
               AND kind = 'deleteObject'
               AND outbox_id <> ?
               AND SUBSTRING_INDEX(object_name, '/', 1) = ?
             LIMIT 1
            """,
            [.int(owner.userID.rawValue), .int(item.rawValue), .text(name)]
        ) { _ in true }
        if upload == true { return true }
        // Such an object may remain for an hour: an upload must not have to wait for that.
        guard let name = CloudFileName(name) else { return false }
        return try first(
            "SELECT 1 FROM outbox WHERE file_uuid = ? AND file_version = ? AND user_id = ? LIMIT 1",
            [.text(name.fileUUID.rawValue), .int(Int64(name.fileVersion.rawValue)), .int(owner.userID.rawValue)]
        ) { _ in true } ?? false
    }

    /// Keeps only `name` as a possible name of an upload's object.
    public mutating func restrict(
        _ item: OutboxID, by leaseOwner: String, toName name: String
    ) throws(StoreError) {
        try execute(
            "UPDATE outbox SET object_name = ? WHERE outbox_id = ? AND lease_owner = ?",
            [.text(name), .int(item.rawValue), .text(leaseOwner)])
    }

    /// The identifiers of an owner's objects that are about to be deleted, at most `limit` of them; objects that a
    /// process is deleting right now come first.
    public mutating func doomedObjects(of owner: OwningUser, limit: Int) throws(StoreError) -> Set<String> {
        Set(
            try all(
                """
                SELECT object_id
                  FROM outbox
                 WHERE user_id = ?
                   AND object_id IS NOT NULL
                   AND kind = 'deleteObject'
                 ORDER BY lease_owner IS NULL
                 LIMIT ?
                """,
                [.int(owner.userID.rawValue), .int(Int64(limit))]
            ) { row in row.optionalText(0) }.compactMap(\.self))
    }

    /// Whether an object is about to be deleted. Call after writing a row that refers to it, in the same transaction.
    public mutating func isDoomed(_ objectID: String, of owner: OwningUser) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM outbox WHERE user_id = ? AND object_id = ? AND kind = 'deleteObject' LIMIT 1",
            [.int(owner.userID.rawValue), .text(objectID)]
        ) { _ in true } ?? false
    }

    /// Whether an upload without an identifier, begun before `item` was recorded, may still refer to the object that
    /// `item` deletes.
    ///
    /// A resumable upload counts only while a request sends its bytes. Between two requests it can wait for days, or
    /// forever: the request that continues it sees `item`, and the deletion considers objects that it has already found
    /// (``unstagedUploads(in:)``). The wait for a request is limited as well, because its process may have died: after
    /// a while it loses the upload, and can no longer record an object. Bytes that clients send to an address directly
    /// are stored under a unique name.
    /// - Parameter patience: how long to wait for such a request after `item` was recorded, in seconds.
    public mutating func hasOlderUpload(
        than item: OutboxID, of owner: OwningUser, patience: Int64, at now: WireDate
    ) throws(StoreError) -> Bool {
        guard try hasOlderUpload(than: item, of: owner, at: now) else { return false }
        let ended = try execute(
            """
            UPDATE resumable_uploads r
              JOIN outbox o ON o.outbox_id = r.outbox_id
              JOIN outbox i ON i.outbox_id = ?
               SET r.writer = NULL, r.is_certain = FALSE
             WHERE r.owning_user_id = ?
               AND r.writer IS NOT NULL
               AND r.writer NOT LIKE '?%'
               AND o.object_id IS NULL
               AND o.outbox_id < i.outbox_id
               AND i.created_at <= ? - INTERVAL ? SECOND
            """, [.int(item.rawValue), .int(owner.userID.rawValue), .date(now), .int(patience)])
        if ended == 0 { return true }
        return try hasOlderUpload(than: item, of: owner, at: now)
    }

    private mutating func hasOlderUpload(
        than item: OutboxID, of owner: OwningUser, at now: WireDate
    ) throws(StoreError) -> Bool {
        try first(
            """
            SELECT 1
              FROM outbox o
             WHERE o.user_id = ?
               AND o.object_id IS NULL
               AND o.kind = 'deleteObject'
               AND o.outbox_id < ?
               AND o.lease_owner IS NOT NULL
               AND o.available_at > ?
               AND NOT EXISTS (SELECT 1
                                 FROM resumable_uploads r
                                WHERE r.upload_uuid = o.lease_owner
                                  AND (r.writer IS NULL OR r.writer LIKE '?%'))
             LIMIT 1
            """, [.int(owner.userID.rawValue), .int(item.rawValue), .date(now)]
        ) { _ in true } ?? false
    }
}

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
