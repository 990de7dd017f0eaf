import MariaDB
public import SyncProtocol

/// How resumable uploads end without a file: their device abandons them, their group or owner is removed, or they
/// expire.
extension StoreSession {
    /// For how long a request may still be sending the last part of an upload that has been ended, in seconds: as long
    /// as the lease of an upload in one request.
    private static let lastPartSeconds: Int64 = 105

    /// Ends an upload of a user's device; the outbox deletes its remains in storage.
    /// - Parameter lastBytes: until when bytes may still arrive; the remains are deleted then.
    /// - Returns: `false` if no such upload exists.
    public mutating func abandonUpload(
        _ uploadUUID: UploadUUID, of userID: UserID, on device: DeviceUUID, at now: WireDate,
        lastBytes: WireDate? = nil
    ) throws(StoreError) -> Bool {
        guard let upload = try resumableUpload(uploadUUID, of: userID, on: device, at: now) else { return false }
        if let destination = upload.destination {
            try releaseLease(of: destination.intent, by: uploadUUID.rawValue, at: max(now, lastBytes ?? now))
        }
        try remove(uploadUUID, at: now)
        return true
    }

    /// Removes an upload that has ended. At S3 it would remain forever, and be billed: its row remains, invisible to
    /// the client, until the jobs role has ended it by the identifier in its session (``upload(of:in:)``).
    private mutating func remove(_ uploadUUID: UploadUUID, at now: WireDate) throws(StoreError) {
        try execute(
            """
            UPDATE resumable_uploads
               SET expires_at = ?, request_hash = UNHEX(SHA2(upload_uuid, 256)), writer = NULL
             WHERE upload_uuid = ?
               AND storage_type = 'S3'
               AND session IS NOT NULL
               AND outbox_id IS NOT NULL
            """, [.date(now), .text(uploadUUID.rawValue)])
        try execute(
            """
            DELETE FROM resumable_uploads
             WHERE upload_uuid = ?
               AND NOT (COALESCE(storage_type, '') = 'S3' AND session IS NOT NULL AND outbox_id IS NOT NULL)
            """, [.text(uploadUUID.rawValue)])
    }

    /// Ends the uploads of a group that a departing member has begun, and those of others into this member's storage: a
    /// request that is sending bytes of one can no longer record anything.
    ///
    /// The outbox deletes their remains: at once, or at the end of the lease if a request may be sending a last part.
    /// The rows are kept until then, because they hold the addresses to which bytes can still be sent
    /// (``upload(of:in:)``), and because they show a client that continues an upload why it has ended.
    mutating func endUploads(
        concerning userID: UserID, in groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) {
        let uploads: [Value] = [.int(groupID.rawValue), .int(userID.rawValue), .int(userID.rawValue)]
        let lastPart = WireDate(secondsSince1970: now.secondsSince1970 + Self.lastPartSeconds)
        try execute(
            """
            UPDATE outbox o
              JOIN resumable_uploads r ON r.outbox_id = o.outbox_id
              JOIN sharing_groups g ON g.sharing_group_id = ?
               SET o.lease_owner = IF(r.writer IS NULL OR r.writer LIKE '?%', NULL, o.lease_owner),
                   o.available_at = IF(r.writer IS NULL OR r.writer LIKE '?%', ?, ?)
             WHERE (r.user_id = ? OR r.owning_user_id = ?)
               AND r.upload_uuid = o.lease_owner
               AND r.request LIKE CONCAT('%sharingGroupUUID=', g.sharing_group_uuid, '%')
            """, [uploads[0], .date(now), .date(lastPart)] + uploads.dropFirst())
        try execute(
            """
            UPDATE resumable_uploads r
              JOIN sharing_groups g ON g.sharing_group_id = ?
               SET r.writer = NULL
             WHERE (r.user_id = ? OR r.owning_user_id = ?)
               AND r.request LIKE CONCAT('%sharingGroupUUID=', g.sharing_group_uuid, '%')
            """, uploads)
    }

    /// The upload whose remains an outbox item deletes.
    public mutating func upload(
        of intent: OutboxID, in owner: OwningUser
    ) throws(StoreError) -> ResumableUpload? {
        try first(
            "SELECT \(ResumableUpload.columns) FROM resumable_uploads WHERE owning_user_id = ? AND outbox_id = ?",
            [.int(owner.userID.rawValue), .int(intent.rawValue)], ResumableUpload.init(_:))
    }

    /// The uploads into an owner's storage that are complete but not staged. They are locked until the transaction
    /// ends.
    public mutating func unstagedUploads(in owner: OwningUser) throws(StoreError) -> [ResumableUpload] {
        try all(
            """
            SELECT \(ResumableUpload.columns)
              FROM resumable_uploads
             WHERE owning_user_id = ?
               AND content IS NOT NULL
               FOR UPDATE
            """, [.int(owner.userID.rawValue)], ResumableUpload.init(_:))
    }

    /// Ends an upload; the outbox deletes its remains in storage.
    public mutating func end(_ upload: ResumableUpload, at now: WireDate) throws(StoreError) {
        if let destination = upload.destination {
            try releaseLease(of: destination.intent, by: upload.uploadUUID.rawValue, at: now)
        }
        try execute("DELETE FROM resumable_uploads WHERE upload_uuid = ?", [.text(upload.uploadUUID.rawValue)])
    }

    /// Deletes the row of an upload after an outbox item has deleted its remains.
    public mutating func forgetUpload(of intent: OutboxID, in owner: OwningUser) throws(StoreError) {
        try execute(
            "DELETE FROM resumable_uploads WHERE owning_user_id = ? AND outbox_id = ?",
            [.int(owner.userID.rawValue), .int(intent.rawValue)])
    }

    /// Ends the uploads by a user who is being removed, and those into their storage, in the same way: rows are kept
    /// only if bytes can still be sent to an address, or if the upload exists at S3.
    mutating func endUploads(ofRemoved userID: UserID, at now: WireDate) throws(StoreError) {
        let user: [Value] = [.int(userID.rawValue), .int(userID.rawValue)]
        try execute(
            """
            UPDATE outbox o
              JOIN resumable_uploads r ON r.outbox_id = o.outbox_id
               SET o.available_at = ?, o.lease_owner = NULL
             WHERE r.user_id = ?
                OR r.owning_user_id = ?
            """, [.date(now)] + user)
        try execute(
            """
            DELETE FROM resumable_uploads
             WHERE (user_id = ? OR owning_user_id = ?)
               AND (direct_until IS NULL OR direct_until <= ? OR session IS NULL OR outbox_id IS NULL)
               AND NOT (COALESCE(storage_type, '') = 'S3' AND session IS NOT NULL AND outbox_id IS NOT NULL)
            """, user + [.date(now)])
        try execute("UPDATE resumable_uploads SET writer = NULL WHERE user_id = ? OR owning_user_id = ?", user)
    }

    /// Removes the uploads by a user who switches accounts, and those into their storage; the outbox deletes their
    /// remains in other users' storage once no more bytes can arrive.
    mutating func removeResumableUploads(of userID: UserID, at now: WireDate) throws(StoreError) {
        let user: [Value] = [.int(userID.rawValue), .int(userID.rawValue)]
        try execute(
            """
            UPDATE outbox o
              JOIN resumable_uploads r ON r.outbox_id = o.outbox_id
               SET o.available_at = IF(r.owning_user_id = ?, ?, GREATEST(?, COALESCE(r.direct_until, ?))),
                   o.lease_owner = NULL
             WHERE r.user_id = ?
                OR r.owning_user_id = ?
            """, [.int(userID.rawValue), .date(now), .date(now), .date(now)] + user)
        // Uploads begun at another user's S3 are ended there first.
        try execute(
            """
            UPDATE resumable_uploads
               SET expires_at = ?, request_hash = UNHEX(SHA2(upload_uuid, 256)), writer = NULL
             WHERE user_id = ?
               AND owning_user_id <> ?
               AND storage_type = 'S3'
               AND session IS NOT NULL
               AND outbox_id IS NOT NULL
            """, [.date(now)] + user)
        try execute(
            """
            DELETE FROM resumable_uploads
             WHERE (user_id = ? OR owning_user_id = ?)
               AND NOT (COALESCE(storage_type, '') = 'S3' AND session IS NOT NULL AND outbox_id IS NOT NULL
                        AND owning_user_id <> ?)
            """, user + [.int(userID.rawValue)])
    }

    /// Deletes expired uploads; the lease of their intents ends at the same time. Uploads begun at S3 are ended there
    /// first.
    /// - Returns: how many were deleted, at most `limit`.
    public mutating func forgetResumableUploads(at now: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            """
            DELETE FROM resumable_uploads
             WHERE expires_at <= ?
               AND NOT (COALESCE(storage_type, '') = 'S3' AND session IS NOT NULL
                        AND EXISTS (SELECT 1 FROM outbox o WHERE o.outbox_id = resumable_uploads.outbox_id))
             ORDER BY expires_at
             LIMIT ?
            """, [.date(now), .int(Int64(limit))])
    }
}
