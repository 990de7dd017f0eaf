internal import MariaDB
public import SyncProtocol

/// Where names are unique and objects are identified only afterwards, two uploads could refer to the same object; these
/// queries prevent it from being deleted for one of them while the other relies on it.
extension StoreSession {
    /// Whether another row of the outbox has the same first name, or is about a version that an object of that name held.
    /// Call after the own row was committed: of two uploads that begin at once at least one detects the other.
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
        // Such an object may stay for an hour: an upload must not have to wait for that.
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

    /// The identifiers of an owner's objects that are about to be deleted, at most `limit` of them; first those that somebody
    /// is deleting just now.
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

    /// Whether an upload without an identifier, begun before `item` was recorded, may still find the object that `item` deletes.
    ///
    /// One that comes in pieces may only while a request sends them. Between two requests it can wait for days, or for ever:
    /// whoever goes on with it sees `item`, and an object that it has found already is not deleted without it
    /// (``unstagedUploads(in:)``). Neither is a request waited for without end, whose process may have died: after a while it
    /// loses the upload, and can record nothing that it finds. What clients send to an address themselves comes under a name
    /// of its own.
    /// - Parameter patience: how long after `item` was recorded such a request is waited for, in seconds.
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
