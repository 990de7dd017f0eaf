import MariaDB
public import SyncProtocol

/// The location, in its owner's former account, of the bytes that a file waits for.
public struct MovingContent: Equatable, Sendable {
    public var groupID: SharingGroupID
    public var fileUUID: FileUUID
    public var fileVersion: FileVersion
    /// `nil` if an older server stored it, and its object was never looked up: then only its name is known.
    public var objectID: String?
    public var objectRevision: String?
    public var providerHash: String?
    public var attempts: Int
}

extension MovingContent {
    /// The columns of `moving_contents` that ``init(_:)`` reads.
    static let columns: ColumnList = [
        "sharing_group_id", "file_uuid", "file_version", "object_id", "object_revision", "provider_hash", "attempts",
    ]

    init(_ row: borrowing Row) throws(StoreError) {
        groupID = SharingGroupID(try row.number("sharing_group_id"))
        fileUUID = try row.identifier("file_uuid")
        fileVersion = FileVersion(try row.number32("file_version"))
        objectID = try row.optionalString("object_id")
        objectRevision = try row.optionalString("object_revision")
        providerHash = try row.optionalString("provider_hash")
        attempts = Int(try row.number("attempts"))
    }

    /// The file before the switch.
    ///
    /// - Parameter file: the file now; it keeps the checksum of its former storage until it has bytes again.
    /// - Returns: `nil` if it no longer waits for this version.
    public func formerFile(of file: FileRecord?, in former: UserRecord) -> FileRecord? {
        guard var file, !file.isDeleted, file.contentState == .awaiting, file.fileVersion == fileVersion,
            file.owningUser.userID == former.userID, let storageType = former.accountType.cloudStorageType
        else { return nil }
        file.owningUser = OwningUser(userID: former.userID, storageType: storageType)
        file.objectID = objectID
        file.objectRevision = objectRevision
        file.providerHash = providerHash
        file.contentState = .stored
        return file
    }
}

extension StoreSession {
    /// The next due file of a move that still waits; removes files that no longer wait from the move. Call in a
    /// transaction.
    ///
    /// - Parameter limit: how many files to examine.
    public mutating func nextMovingContent(
        of id: AccountSwitchID, former: UserRecord, at now: WireDate, limit: Int = 500
    ) throws(StoreError) -> (content: MovingContent, file: FileRecord)? {
        let due = try all(
            """
            SELECT \(MovingContent.columns)
              FROM moving_contents
             WHERE switch_uuid = ?
               AND failure IS NULL
               AND available_at <= ?
             ORDER BY available_at, sharing_group_id, file_uuid
             LIMIT ?
            """, [.text(id.rawValue), .date(now), .int(Int64(limit))], MovingContent.init(_:))
        for content in due {
            if let file = content.formerFile(of: try file(content.fileUUID, in: content.groupID), in: former) {
                return (content, file)
            }
            try dropMovingContent(of: content.fileUUID, in: content.groupID)
        }
        return nil
    }

    /// When the next file of a move is due; `nil` if none is left.
    public mutating func nextMovingTime(of id: AccountSwitchID) throws(StoreError) -> WireDate? {
        try first(
            """
            SELECT MIN(available_at)
              FROM moving_contents
             WHERE switch_uuid = ?
               AND failure IS NULL
            """, [.text(id.rawValue)]
        ) { row throws(StoreError) in try row.optionalDate(0) } ?? nil
    }

    /// Postpones a file of a move, after all others that are due earlier.
    public mutating func postpone(
        _ content: MovingContent, of id: AccountSwitchID, until time: WireDate
    ) throws(StoreError) {
        try execute(
            """
            UPDATE moving_contents
               SET attempts = attempts + 1, available_at = ?
             WHERE switch_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """,
            [.date(time), .text(id.rawValue), .int(content.groupID.rawValue), .text(content.fileUUID.rawValue)])
    }

    /// Leaves a file of a move to the phones.
    /// - Parameter reason: a short word for the operator.
    public mutating func giveUp(
        _ content: MovingContent, of id: AccountSwitchID, _ reason: String
    ) throws(StoreError) {
        try execute(
            """
            UPDATE moving_contents
               SET attempts = attempts + 1, failure = ?
             WHERE switch_uuid = ?
               AND sharing_group_id = ?
               AND file_uuid = ?
            """,
            [
                .text(String(reason.prefix(255))), .text(id.rawValue), .int(content.groupID.rawValue),
                .text(content.fileUUID.rawValue),
            ])
    }

    /// How many files of a move the server leaves to the phones.
    public mutating func failedCount(of id: AccountSwitchID) throws(StoreError) -> Int64 {
        Int64(
            try count(
                "SELECT COUNT(*) FROM moving_contents WHERE switch_uuid = ? AND failure IS NOT NULL",
                [.text(id.rawValue)]))
    }

    /// Where the bytes of a waiting file can still be read; `nil` if nowhere.
    public mutating func movingContent(
        of file: FileRecord, in groupID: SharingGroupID
    ) throws(StoreError) -> (move: AccountMove, file: FileRecord)? {
        let found = try first(
            """
            SELECT \(MovingContent.columns), switch_uuid
              FROM moving_contents
             WHERE sharing_group_id = ?
               AND file_uuid = ?
               AND file_version = ?
               AND failure IS NULL
             LIMIT 1
            """,
            [.int(groupID.rawValue), .text(file.fileUUID.rawValue), .int(Int64(file.fileVersion.rawValue))]
        ) { row throws(StoreError) in
            (content: try MovingContent(row), id: try row.identifier("switch_uuid", as: AccountSwitchID.self))
        }
        guard let found, let move = try accountMove(of: found.id), move.state == .moving,
            let former = found.content.formerFile(of: file, in: move.former)
        else { return nil }
        return (move, former)
    }

    /// Removes a file from the move that it is part of.
    mutating func dropMovingContent(of file: FileUUID, in groupID: SharingGroupID) throws(StoreError) {
        try execute(
            "DELETE FROM moving_contents WHERE sharing_group_id = ? AND file_uuid = ?",
            [.int(groupID.rawValue), .text(file.rawValue)])
    }
}
