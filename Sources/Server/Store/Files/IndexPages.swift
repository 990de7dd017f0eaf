import MariaDB
public import SyncProtocol

/// The state of the page in an owner's folder that lists their files.
public struct IndexPageRecord: Equatable, Sendable {
    /// The name of every page.
    public static let objectName = "index.html"

    /// The object of the page; `nil` if none is known.
    public var objectID: String?
    /// SHA-256 of its bytes.
    public var contentHash: [UInt8]?
    /// The page that is about to be stored, recorded before its first byte is sent.
    public var next: Intent?

    public init(objectID: String? = nil, contentHash: [UInt8]? = nil) {
        self.objectID = objectID
        self.contentHash = contentHash
    }

    /// How to recognise the object of an interrupted attempt.
    public struct Intent: Equatable, Sendable {
        /// `nil` for a storage that identifies objects only afterwards: then the object is found by its name, and
        /// recognised by the provider's hash or its bytes.
        public var objectID: String?
        /// SHA-256 of its bytes.
        public var contentHash: [UInt8]
        /// The provider's own hash of its bytes.
        public var providerHash: String

        public init(objectID: String?, contentHash: [UInt8], providerHash: String) {
            self.objectID = objectID
            self.contentHash = contentHash
            self.providerHash = providerHash
        }
    }
}

/// A file as a page lists it.
public struct ListedFile: Equatable, Sendable {
    public var groupUUID: SharingGroupUUID
    public var groupName: String?
    public var file: FileRecord

    public init(groupUUID: SharingGroupUUID, groupName: String?, file: FileRecord) {
        self.groupUUID = groupUUID
        self.groupName = groupName
        self.file = file
    }
}

extension StoreSession {
    // MARK: Scheduling

    /// Schedules new pages for the owners of the files that a group's master version `version` has changed, except for
    /// owners whose page is already scheduled.
    public mutating func scheduleIndexPages(
        ofChangesIn groupID: SharingGroupID, as version: MasterVersion, availableAt: WireDate, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, available_at, created_at, request_id)
            SELECT DISTINCT 'writeIndexPage', f.owning_user_id, f.storage_type, ?, ?, ?
              FROM files f FORCE INDEX (changes)
              JOIN users u ON u.user_id = f.owning_user_id
             WHERE f.sharing_group_id = ?
               AND f.changed_at_master_version = ?
               AND NOT EXISTS (SELECT 1 FROM outbox o
                                WHERE o.user_id = f.owning_user_id AND o.object_id IS NULL
                                  AND o.kind = 'writeIndexPage' AND o.lease_owner IS NULL)
            """,
            [.date(availableAt), .date(now), requestValue, .int(groupID.rawValue), .int(version.rawValue)])
    }

    /// The same for all members with storage of a group whose name has changed.
    public mutating func scheduleIndexPages(
        ofOwnersIn groupID: SharingGroupID, availableAt: WireDate, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, available_at, created_at, request_id)
            SELECT 'writeIndexPage', u.user_id, CAST(u.account_type AS CHAR), ?, ?, ?
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
             WHERE m.sharing_group_id = ?
               AND u.account_type IN (\(SQL.owningAccountTypes))
               AND NOT EXISTS (SELECT 1 FROM outbox o
                                WHERE o.user_id = u.user_id AND o.object_id IS NULL
                                  AND o.kind = 'writeIndexPage' AND o.lease_owner IS NULL)
            """, [.date(availableAt), .date(now), requestValue, .int(groupID.rawValue)])
    }

    /// Schedules a new page for one owner.
    public mutating func scheduleIndexPage(
        of owner: OwningUser, availableAt: WireDate, at now: WireDate
    ) throws(StoreError) {
        try add(.writeIndexPage, of: owner, availableAt: availableAt, at: now)
    }

    /// Schedules the deletion of the pages of a user who is being removed, and deletes their records. Call before the
    /// user's row is deleted. The work includes the name, because the object may have become something else.
    mutating func removeIndexPages(of userID: UserID, at now: WireDate) throws(StoreError) {
        let user = Value.int(userID.rawValue)
        for column: ColumnList in [["object_id"], ["next_object_id"]] {
            try execute(
                """
                INSERT INTO outbox (kind, user_id, storage_type, object_id, object_name, available_at, created_at, request_id)
                SELECT 'deleteObject', u.user_id, CAST(u.account_type AS CHAR), \(column, of: "p"), ?, ?, ?, ?
                  FROM index_pages p
                  JOIN users u ON u.user_id = p.user_id
                 WHERE p.user_id = ?
                   AND \(column, of: "p") IS NOT NULL
                """, [.text(IndexPageRecord.objectName), .date(now), .date(now), requestValue, user])
        }
        try execute("DELETE FROM index_pages WHERE user_id = ?", [user])
    }

    // MARK: Writing

    /// Leases an owner's page, so that no other process writes it for a while.
    /// - Returns: `false` if another process holds the lease, or the user is gone.
    public mutating func takeIndexPage(
        of userID: UserID, by leaseOwner: String, seconds: Int
    ) throws(StoreError) -> Bool {
        try execute(
            """
            INSERT IGNORE INTO index_pages (user_id)
            SELECT user_id
              FROM users
             WHERE user_id = ?
              LOCK IN SHARE MODE
            """, [.int(userID.rawValue)])
        return try execute(
            """
            UPDATE index_pages
               SET lease_owner = ?, lease_until = UTC_TIMESTAMP() + INTERVAL ? SECOND
             WHERE user_id = ?
               AND (lease_owner IS NULL OR lease_until < UTC_TIMESTAMP())
            """, [.text(leaseOwner), .int(Int64(seconds)), .int(userID.rawValue)]) == 1
    }

    /// Releases the lease of an owner's page.
    public mutating func releaseIndexPage(of userID: UserID, by leaseOwner: String) throws(StoreError) {
        try execute(
            "UPDATE index_pages SET lease_owner = NULL, lease_until = NULL WHERE user_id = ? AND lease_owner = ?",
            [.int(userID.rawValue), .text(leaseOwner)])
    }

    /// The state of an owner's page.
    public mutating func indexPage(of userID: UserID) throws(StoreError) -> IndexPageRecord? {
        try first(
            """
            SELECT object_id, content_hash, next_object_id, next_content_hash, next_provider_hash
              FROM index_pages
             WHERE user_id = ?
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            var record = IndexPageRecord(
                objectID: try row.optionalString("object_id"), contentHash: try row.optionalData("content_hash"))
            if let hash = try row.optionalData("next_content_hash"),
                let providerHash = try row.optionalString("next_provider_hash")
            {
                record.next = IndexPageRecord.Intent(
                    objectID: try row.optionalString("next_object_id"), contentHash: hash, providerHash: providerHash)
            }
            return record
        }
    }

    /// Stores the state of an owner's page.
    /// - Returns: `false` if `leaseOwner` no longer holds the lease, or the user is gone; then nothing was stored.
    public mutating func store(
        _ page: IndexPageRecord, of userID: UserID, by leaseOwner: String
    ) throws(StoreError) -> Bool {
        let owned: [Value] = [.int(userID.rawValue), .text(leaseOwner)]
        // A separate query, because storing the same page again changes no row.
        guard
            try first(
                "SELECT 1 FROM index_pages WHERE user_id = ? AND lease_owner = ? FOR UPDATE", owned, { _ in true })
                == true
        else { return false }
        let values: ColumnValues = [
            "object_id": .text(orNull: page.objectID), "content_hash": .bytes(orNull: page.contentHash),
            "next_object_id": .text(orNull: page.next?.objectID),
            "next_content_hash": .bytes(orNull: page.next?.contentHash),
            "next_provider_hash": .text(orNull: page.next?.providerHash),
        ]
        try execute(
            "UPDATE index_pages SET \(assigning: values.columns) WHERE user_id = ? AND lease_owner = ?",
            values.values + owned)
        return true
    }

    // MARK: Contents

    /// The files that an owner has in their storage, the newest first, at most `limit`, and how many there are.
    public mutating func listedFiles(
        of userID: UserID, limit: Int
    ) throws(StoreError) -> (files: [ListedFile], total: Int) {
        let user = Value.int(userID.rawValue)
        let total = try count(
            """
            SELECT COUNT(*)
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.owning_user_id = ?
               AND f.content_state = 'stored'
               AND NOT f.is_deleted
               AND NOT g.is_deleted
            """, [user])
        let files = try all(
            """
            SELECT \(FileRecord.columns, of: "f"), g.sharing_group_uuid, g.name
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.owning_user_id = ?
               AND f.content_state = 'stored'
               AND NOT f.is_deleted
               AND NOT g.is_deleted
             ORDER BY f.created_at DESC, f.file_uuid, f.sharing_group_id
             LIMIT ?
            """, [user, .int(Int64(limit))]
        ) { row throws(StoreError) in
            ListedFile(
                groupUUID: try row.identifier("sharing_group_uuid"), groupName: try row.optionalString("name"),
                file: try FileRecord(row))
        }
        return (files, total)
    }
}
