internal import MariaDB
public import SyncProtocol

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
