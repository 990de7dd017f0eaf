import MariaDB
public import SyncProtocol

/// The data that one request sends about the batch to which its change belongs.
public struct BatchTicket: Equatable, Sendable {
    public var batch: UploadBatch
    /// The master version from which the request, and therefore the batch, is committed.
    public var masterVersion: MasterVersion
    /// SHA-256 of the request's parameters.
    public var requestHash: [UInt8]

    public init(batch: UploadBatch, masterVersion: MasterVersion, requestHash: [UInt8]) {
        self.batch = batch
        self.masterVersion = masterVersion
        self.requestHash = requestHash
    }
}

/// The state of a batch after one of its requests has been staged.
public enum BatchState: Equatable, Sendable {
    /// Other requests are still missing.
    case incomplete
    /// All requests have arrived; the message is for the other members of the group.
    case complete(pushMessage: String?)
    /// The request's count differs from that of the earlier requests, or more files arrived than were announced.
    case mismatch
}

extension StoreSession {
    /// Adds staged changes to their batch.
    ///
    /// Call after staging it, in a transaction that holds the group's row exclusively: two last members are then
    /// serialized. A batch that was begun for another master version starts over: members that are not sent again do
    /// not count. Roll back the transaction if the outcome is ``BatchState/mismatch``.
    /// - Parameter changes: each with its ticket, at least one; all of the same batch and master version.
    public mutating func joinBatch(
        _ changes: [(ticket: BatchTicket, file: FileUUID)], in area: StagingArea, at now: WireDate
    ) throws(StoreError) -> BatchState {
        guard let ticket = changes.last?.ticket,
            changes.allSatisfy({ $0.ticket.batch.batchCount == ticket.batch.batchCount })
        else { return .mismatch }
        let key = area.values + [.text(ticket.batch.batchUUID.rawValue)]
        let count = Int64(ticket.batch.batchCount)
        let known = try first(
            """
            SELECT member_count, master_version, push_message
              FROM batches
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND batch_uuid = ?
               FOR UPDATE
            """, key
        ) { row throws(StoreError) in
            (
                count: try row.number("member_count"), version: MasterVersion(try row.number("master_version")),
                message: try row.optionalString("push_message")
            )
        }
        var message = changes.last { $0.ticket.batch.pushNotificationMessage != nil }?
            .ticket.batch.pushNotificationMessage
        if let known, known.version == ticket.masterVersion {
            guard known.count == count else { return .mismatch }
            message = message ?? known.message
        }
        try execute(
            """
            INSERT INTO batches
                   (user_id, device_uuid, sharing_group_id, batch_uuid, member_count, master_version, push_message,
                    changed_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE member_count = VALUES(member_count), master_version = VALUES(master_version),
                                        push_message = VALUES(push_message), changed_at = VALUES(changed_at)
            """,
            key + [.int(count), .int(ticket.masterVersion.rawValue), .text(orNull: message), .date(now)])
        for change in changes {
            try execute(
                """
                UPDATE staged_changes
                   SET batch_uuid = ?, batch_master_version = ?, batch_request_hash = ?
                 WHERE user_id = ?
                   AND device_uuid = ?
                   AND sharing_group_id = ?
                   AND file_uuid = ?
                """,
                [
                    .text(ticket.batch.batchUUID.rawValue), .int(ticket.masterVersion.rawValue),
                    .bytes(change.ticket.requestHash),
                ] + area.values + [.text(change.file.rawValue)])
        }
        let members = try first(
            """
            SELECT COUNT(*)
              FROM staged_changes
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND batch_uuid = ?
               AND batch_master_version = ?
            """, key + [.int(ticket.masterVersion.rawValue)]
        ) { row throws(StoreError) in try row.number(0) }
        switch members ?? 0 {
        case count: return .complete(pushMessage: message)
        case ..<count: return .incomplete
        default: return .mismatch
        }
    }

    /// Removes a staged change from its batch, so that it waits for an ordinary commit.
    public mutating func leaveBatch(with file: FileUUID, in area: StagingArea) throws(StoreError) {
        try execute(
            """
            UPDATE staged_changes
               SET batch_uuid = NULL, batch_master_version = NULL, batch_request_hash = NULL
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """, area.values + [.text(file.rawValue)])
    }

    /// Withdraws the remaining changes in a committed batch: members that were not sent again after it started over.
    mutating func closeBatch(_ batch: BatchUUID, in area: StagingArea, at now: WireDate) throws(StoreError) {
        _ = try discardStaged(in: area, files: nil, batch: batch, at: now)
        try execute(
            """
            DELETE FROM batches
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND batch_uuid = ?
            """, area.values + [.text(batch.rawValue)])
    }

    /// Deletes batches whose newest member arrived before `time`, at most `limit` of them.
    ///
    /// Their members are withdrawn by ``withdrawAbandoned(stagedBefore:limit:at:)``.
    /// - Returns: how many were deleted.
    public mutating func forgetBatches(changedBefore time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM batches WHERE changed_at < ? ORDER BY changed_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }
}
