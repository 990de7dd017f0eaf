import MariaDB
public import SyncProtocol

/// The record of the newest commit of a group.
public struct LastCommit: Equatable, Sendable {
    public var userID: UserID
    public var deviceUUID: DeviceUUID
    /// SHA-256 of all parameters of the request.
    public var requestHash: [UInt8]
    /// The master version after the commit.
    public var masterVersion: MasterVersion
    public var transferred: Int32

    public init(
        userID: UserID, deviceUUID: DeviceUUID, requestHash: [UInt8], masterVersion: MasterVersion, transferred: Int32
    ) {
        self.userID = userID
        self.deviceUUID = deviceUUID
        self.requestHash = requestHash
        self.masterVersion = masterVersion
        self.transferred = transferred
    }
}

extension StoreSession {
    /// Stores a commit and its reply, in case the reply is lost and the request is retried.
    public mutating func remember(_ commit: LastCommit, of groupID: SharingGroupID) throws(StoreError) {
        try execute(
            """
            UPDATE sharing_groups
               SET last_commit_version = ?, last_commit_user_id = ?, last_commit_device_uuid = ?,
                   last_commit_request_hash = ?, last_commit_transferred = ?
             WHERE sharing_group_id = ?
            """,
            [
                .int(commit.masterVersion.rawValue), .int(commit.userID.rawValue), .text(commit.deviceUUID.rawValue),
                .bytes(commit.requestHash), .int(Int64(commit.transferred)), .int(groupID.rawValue),
            ])
    }

    /// The newest commit of a group, if nothing has changed the group since. Does not block.
    public mutating func lastCommit(of groupID: SharingGroupID) throws(StoreError) -> LastCommit? {
        try first(
            """
            SELECT last_commit_user_id, last_commit_device_uuid, last_commit_request_hash, last_commit_version,
                   last_commit_transferred
              FROM sharing_groups
             WHERE sharing_group_id = ?
               AND last_commit_version = master_version
            """,
            [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            LastCommit(
                userID: UserID(try row.number("last_commit_user_id")),
                deviceUUID: try row.identifier("last_commit_device_uuid"),
                requestHash: try row.optionalData("last_commit_request_hash") ?? [],
                masterVersion: MasterVersion(try row.number("last_commit_version")),
                transferred: try row.number32("last_commit_transferred"))
        }
    }
}

/// A commit with an id chosen by the client.
public struct IdentifiedCommit: Equatable, Sendable {
    /// SHA-256 of all parameters of the request.
    public var requestHash: [UInt8]
    /// The master version after the commit.
    public var masterVersion: MasterVersion
    public var transferred: Int32

    public init(requestHash: [UInt8], masterVersion: MasterVersion, transferred: Int32) {
        self.requestHash = requestHash
        self.masterVersion = masterVersion
        self.transferred = transferred
    }
}

/// A request that was part of a batch's commit.
public struct CommittedMember: Equatable, Sendable {
    /// SHA-256 of all parameters of the request.
    public var requestHash: [UInt8]
    /// When the file was created, and when this version of it was uploaded; `nil` for changes without bytes.
    public var createdAt: WireDate?
    public var updatedAt: WireDate?
}

extension StoreSession {
    /// The commit stored under an id, for as long as commits are kept.
    public mutating func identifiedCommit(
        _ commit: CommitID, in area: StagingArea
    ) throws(StoreError) -> IdentifiedCommit? {
        try first(
            """
            SELECT request_hash, master_version, transferred
              FROM commits
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND commit_id = ?
            """, area.values + [.text(commit.rawValue)]
        ) { row throws(StoreError) in
            IdentifiedCommit(
                requestHash: try row.optionalData("request_hash") ?? [],
                masterVersion: MasterVersion(try row.number("master_version")),
                transferred: try row.number32("transferred"))
        }
    }

    /// Stores a commit under its id. Call in the commit's transaction.
    /// - Throws: ``StoreError/alreadyExists(key:)`` if the id has been used.
    public mutating func record(
        _ recorded: IdentifiedCommit, as commit: CommitID, in area: StagingArea, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO commits
                   (user_id, device_uuid, sharing_group_id, commit_id, request_hash, master_version, transferred,
                    committed_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            area.values + [
                .text(commit.rawValue), .bytes(recorded.requestHash), .int(recorded.masterVersion.rawValue),
                .int(Int64(recorded.transferred)), .date(now),
            ])
    }

    /// The request that changed a file as part of a batch's commit.
    public mutating func committedMember(
        of commit: CommitID, changing file: FileUUID, in area: StagingArea
    ) throws(StoreError) -> CommittedMember? {
        try first(
            """
            SELECT request_hash, created_at, updated_at
              FROM commit_members
             WHERE user_id = ?
               AND device_uuid = ?
               AND sharing_group_id = ?
               AND commit_id = ?
               AND file_uuid = ?
            """, area.values + [.text(commit.rawValue), .text(file.rawValue)]
        ) { row throws(StoreError) in
            CommittedMember(
                requestHash: try row.optionalData("request_hash") ?? [],
                createdAt: try row.optionalDate("created_at"), updatedAt: try row.optionalDate("updated_at"))
        }
    }

    /// Stores the data with which a later repetition of a batch's requests must be compared. Call when the files are
    /// committed and the staged rows still exist.
    mutating func recordMembers(
        of batch: BatchUUID, in area: StagingArea, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO commit_members
                   (user_id, device_uuid, sharing_group_id, commit_id, file_uuid, request_hash, created_at, updated_at,
                    committed_at)
            SELECT s.user_id, s.device_uuid, s.sharing_group_id, s.batch_uuid, s.file_uuid, s.batch_request_hash,
                   IF(s.updated_at IS NULL, NULL, f.created_at), s.updated_at, ?
              FROM staged_changes s
              JOIN files f ON f.sharing_group_id = s.sharing_group_id AND f.file_uuid = s.file_uuid
              JOIN batches b ON b.user_id = s.user_id AND b.device_uuid = s.device_uuid
                            AND b.sharing_group_id = s.sharing_group_id AND b.batch_uuid = s.batch_uuid
                            AND b.master_version = s.batch_master_version
             WHERE s.user_id = ?
               AND s.device_uuid = ?
               AND s.sharing_group_id = ?
               AND s.batch_uuid = ?
            """, [.date(now)] + area.values + [.text(batch.rawValue)])
    }

    /// Deletes commits made before `time`, at most `limit` of them, and as many members.
    /// - Returns: how many rows were deleted.
    public mutating func forgetCommits(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        let members = try execute(
            "DELETE FROM commit_members WHERE committed_at < ? ORDER BY committed_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
        return try members
            + execute(
                "DELETE FROM commits WHERE committed_at < ? ORDER BY committed_at LIMIT ?",
                [.date(time), .int(Int64(limit))])
    }
}
