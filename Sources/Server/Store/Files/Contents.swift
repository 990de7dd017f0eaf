import MariaDB
public import SyncProtocol

/// The hashes of an object's bytes, computed by reading them.
public struct KnownContent: Equatable, Sendable {
    /// Identifies this version of the object's bytes: the provider's own hash of them, or, if it reports none, a hash
    /// of the object's revision and size, 64 hexadecimal digits.
    public var providerHash: String
    /// In the format of the storage; the checksum that clients compare.
    public var checkSum: CheckSum

    public init(providerHash: String, checkSum: CheckSum) {
        self.providerHash = providerHash
        self.checkSum = checkSum
    }
}

extension StoreSession {
    /// The stored hashes of an object; its bytes may have changed since.
    public mutating func knownContent(
        of objectID: String, in owner: OwningUser
    ) throws(StoreError) -> KnownContent? {
        try first(
            "SELECT provider_hash, check_sum FROM content_hashes WHERE user_id = ? AND object_id = ?",
            [.int(owner.userID.rawValue), .text(objectID)]
        ) { row throws(StoreError) in
            KnownContent(
                providerHash: try row.string(0), checkSum: try row.identifier(1))
        }
    }

    /// Stores the hashes of an object, and sets the provider's hash of those versions that consist of the same bytes
    /// and have none yet. Call in a transaction; may be repeated.
    public mutating func remember(
        _ content: KnownContent, of objectID: String, in owner: OwningUser, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO content_hashes (user_id, object_id, provider_hash, check_sum, computed_at)
            VALUES (?, ?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE
                   provider_hash = VALUE(provider_hash), check_sum = VALUE(check_sum), computed_at = VALUE(computed_at)
            """,
            [
                .int(owner.userID.rawValue), .text(objectID), .text(content.providerHash),
                .text(content.checkSum.rawValue), .date(now),
            ])
        let values: [Value] = [
            .text(content.providerHash), .int(owner.userID.rawValue), .text(objectID),
            .text(content.checkSum.rawValue),
        ]
        try execute(
            """
            UPDATE files
               SET provider_hash = ?
             WHERE owning_user_id = ?
               AND object_id = ?
               AND provider_hash IS NULL
               AND check_sum = ?
            """, values)
        try execute(
            """
            UPDATE staged_changes
               SET provider_hash = ?
             WHERE owning_user_id = ?
               AND object_id = ?
               AND provider_hash IS NULL
               AND check_sum = ?
            """, values)
    }

    /// Records that the bytes of an object do not have the checksum with which versions of it were uploaded: from now
    /// on, ``knownContent(of:in:)`` determines their hashes, as for an object that its owner has changed. Call in a
    /// transaction; may be repeated.
    public mutating func refute(
        _ checkSum: CheckSum, of objectID: String, in owner: OwningUser
    ) throws(StoreError) {
        let values: [Value] = [.int(owner.userID.rawValue), .text(objectID), .text(checkSum.rawValue)]
        try execute(
            """
            UPDATE files
               SET provider_hash = NULL, object_revision = NULL
             WHERE owning_user_id = ?
               AND object_id = ?
               AND check_sum = ?
            """, values)
        try execute(
            """
            UPDATE staged_changes
               SET provider_hash = NULL, object_revision = NULL
             WHERE owning_user_id = ?
               AND object_id = ?
               AND check_sum = ?
            """, values)
    }

    /// Deletes the recorded hashes of an object, because a later read returned different bytes: either read may have
    /// been damaged in transit. May be repeated.
    public mutating func doubt(
        _ checkSum: CheckSum, of objectID: String, in owner: OwningUser
    ) throws(StoreError) {
        // No object has this mark. The role that downloads may not delete rows; this one is deleted when it is old.
        try execute(
            "UPDATE content_hashes SET provider_hash = '' WHERE user_id = ? AND object_id = ? AND check_sum = ?",
            [.int(owner.userID.rawValue), .text(objectID), .text(checkSum.rawValue)])
    }

    /// Deletes hashes computed before `time`; they can be computed again.
    /// - Returns: how many objects' hashes were deleted, at most `limit`.
    public mutating func forgetContents(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM content_hashes WHERE computed_at < ? ORDER BY computed_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }

    /// Schedules the jobs role to compute the hashes of an object, unless that is already scheduled.
    public mutating func addHashing(
        of objectID: String, in owner: OwningUser, availableAt: WireDate, at now: WireDate
    ) throws(StoreError) {
        let row = row(for: .hashObject(objectID: objectID), of: owner, availableAt: availableAt, at: now)
        try execute(
            """
            INSERT INTO outbox (\(row.columns))
            SELECT \(valuesOf: row.columns)
              FROM DUAL
             WHERE NOT EXISTS (SELECT 1
                                 FROM outbox o
                                WHERE o.user_id = ? AND o.object_id = ? AND o.kind = 'hashObject')
            """, row.values + [.int(owner.userID.rawValue), .text(objectID)])
    }
}

/// Files whose bytes are uploaded again.
extension StoreSession {
    /// Stores the location of the newly uploaded bytes of a version; version, dates and master version do not change.
    /// Call in a transaction that holds the group exclusively, and that has found the row without contents.
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

// MARK: Contents that are gone

extension StoreSession {
    /// Records that a phone has been informed that a file's contents are gone. Call in a transaction.
    ///
    /// - Parameter reason: ``GoneReason/fileRemovedOrRenamed`` or ``GoneReason/authTokenExpiredOrRevoked``.
    public mutating func noteGone(
        _ reason: GoneReason, _ file: FileRecord, in groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) {
        // Assignments take effect from left to right.
        try execute(
            """
            INSERT INTO gone_contents
                   (sharing_group_id, file_uuid, reason, file_version, first_told_at, last_told_at, times_told,
                    last_request_id)
            VALUES (?, ?, ?, ?, ?, ?, 1, ?)
                ON DUPLICATE KEY UPDATE
                   first_told_at = IF(file_version = VALUE(file_version), first_told_at, VALUE(first_told_at)),
                   times_told = IF(file_version = VALUE(file_version), times_told + 1, 1),
                   file_version = VALUE(file_version), last_told_at = VALUE(last_told_at),
                   last_request_id = VALUE(last_request_id)
            """,
            [
                .int(groupID.rawValue), .text(file.fileUUID.rawValue), .text(reason.rawValue),
                .int(Int64(file.fileVersion.rawValue)), .date(now), .date(now), requestValue,
            ])
    }

    /// Deletes records of replies sent to phones before `time`.
    /// - Returns: how many rows were deleted, at most `limit`.
    public mutating func forgetGoneContents(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM gone_contents WHERE last_told_at < ? ORDER BY last_told_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }
}
