internal import MariaDB
public import SyncProtocol

/// The number of a row of the outbox.
public struct OutboxID: Hashable, Sendable {
    public let rawValue: Int64
    init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// Something that must still happen in a cloud or at a push service.
public struct OutboxItem: Equatable, Sendable {
    public enum Kind: String, Equatable, Sendable, CaseIterable {
        case deleteObject
        case writeWarningFile
        /// What the object's bytes are is to be found out by reading them.
        case hashObject
        case sendPush
        case removePushTopic
        /// The provider is to be told that the server no longer uses what the person had granted.
        case revokeGrant
    }

    public var id: OutboxID
    public var kind: Kind
    public var userID: UserID
    /// Whose storage it is about; `nil` for what is none's.
    public var owner: OwningUser?
    public var objectID: String?
    /// The names, in the order of their use, under which an object may lie whose identifier is not known.
    /// For a ``Kind/removePushTopic``, the topic.
    public var objectNames: [String]
    /// What a ``Kind/sendPush`` is to say, and to whom.
    public var push: PushOrder?
    /// What a ``Kind/revokeGrant`` is about.
    public var grant: AbandonedGrant?
    /// The request that caused the work; `nil` if none did, or an older release recorded it.
    public var requestID: String?
    /// How often it was tried before.
    public var attempts: Int
}

/// What came of leased work when its lease was to end.
public enum LeaseEnd: Equatable, Sendable {
    /// It was completed or put off.
    case asAsked
    /// It is another user's now, for whom it is due at once.
    case passedOn
    /// The lease had ended before: the work is somebody else's, or done.
    case lostBefore
}

extension StoreSession {
    private static let table = "outbox"
    /// Stands in no name of an object.
    private static let nameSeparator = "/"

    /// Has an object deleted from `availableAt` on, unless a row refers to it by then.
    @discardableResult
    public mutating func addDeletion(
        of objectID: String, in owner: OwningUser, leaseOwner: String? = nil, availableAt: WireDate, at now: WireDate
    ) throws(StoreError) -> OutboxID {
        OutboxID(
            try insert(
                """
                INSERT INTO outbox
                       (kind, user_id, storage_type, object_id, available_at, lease_owner, created_at, request_id)
                VALUES ('deleteObject', ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    .int(owner.userID.rawValue), .text(owner.storageType.rawValue), .text(objectID),
                    .date(availableAt), .text(orNull: leaseOwner), .date(now), requestValue,
                ]))
    }

    /// Has the object of a file's current version deleted, unless a row refers to it by then; call when the file no longer
    /// does.
    mutating func addDeletion(ofObjectOf file: FileRecord, at now: WireDate) throws(StoreError) {
        guard !file.isDeleted else { return }
        try addDeletion(of: file.objectID, named: file.nameByOlderServer, in: file.owningUser, at: now)
    }

    /// Has the object of a staged upload deleted, unless a row refers to it by then; call when it is no longer staged.
    public mutating func addDeletion(
        ofObjectOf change: StagedChange, in area: StagingArea, at now: WireDate
    ) throws(StoreError) {
        guard let content = change.content else { return }
        var name: CloudFileName?
        if let version = change.fileVersion, let mimeType = change.mimeType {
            name = CloudFileName(
                fileUUID: change.fileUUID, deviceUUID: area.deviceUUID, fileVersion: version,
                fileExtension: MIMETypeTable.extensionOfOlderServers(for: mimeType))
        }
        try addDeletion(of: content.objectID, named: name, in: content.owningUser, at: now)
    }

    /// Has an object deleted by its identifier, or by its name if an older server stored it and it was never looked for.
    mutating func addDeletion(
        of objectID: String?, named name: CloudFileName?, in owner: OwningUser, at now: WireDate
    ) throws(StoreError) {
        if let objectID {
            try addDeletion(of: objectID, in: owner, availableAt: now, at: now)
        } else if let name {
            try execute(
                """
                INSERT INTO outbox (kind, user_id, storage_type, object_name, available_at, created_at, request_id)
                VALUES ('deleteObject', ?, ?, ?, ?, ?, ?)
                """,
                [
                    .int(owner.userID.rawValue), .text(owner.storageType.rawValue), .text(name.rawValue), .date(now),
                    .date(now), requestValue,
                ])
        }
    }

    /// Records an upload before its first byte goes out: if it dies, the object it may have made is deleted once the lease
    /// has run out. For a provider that identifies objects only afterwards, `objectID` is `nil` and the names count.
    ///
    /// One statement that waits for a removal of the owner: either that finds the row, and keeps the way into the storage
    /// until it is cleared, or there is no upload.
    /// - Throws: ``StoreError/notFound`` if the owner is no user any more.
    public mutating func addIntent(
        toStore objectID: String?, named names: [String], in owner: OwningUser, leaseOwner: String, until: WireDate,
        at now: WireDate
    ) throws(StoreError) -> OutboxID {
        let id = try insertSelected(
            """
            INSERT INTO outbox
                   (kind, user_id, storage_type, object_id, object_name, available_at, lease_owner, created_at,
                    request_id)
            SELECT 'deleteObject', user_id, ?, ?, ?, ?, ?, ?, ?
              FROM users
             WHERE user_id = ?
              LOCK IN SHARE MODE
            """,
            [
                .text(owner.storageType.rawValue), .text(orNull: objectID),
                .text(names.joined(separator: Self.nameSeparator)), .date(until), .text(leaseOwner), .date(now),
                requestValue, .int(owner.userID.rawValue),
            ])
        guard let id else { throw .notFound }
        return OutboxID(id)
    }

    /// Has the warning file written into a new owner's storage.
    public mutating func addWarningFile(for owner: OwningUser, at now: WireDate) throws(StoreError) {
        try execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, available_at, created_at, request_id)
            VALUES ('writeWarningFile', ?, ?, ?, ?, ?)
            """,
            [.int(owner.userID.rawValue), .text(owner.storageType.rawValue), .date(now), .date(now), requestValue])
    }

    /// Prolongs a lease.
    /// - Returns: `false` if it is no longer `leaseOwner`'s; then the object may be deleted at any moment.
    public mutating func renewLease(
        of item: OutboxID, by leaseOwner: String, until: WireDate
    ) throws(StoreError) -> Bool {
        try execute(
            "UPDATE outbox SET available_at = ? WHERE outbox_id = ? AND lease_owner = ?",
            [.date(until), .int(item.rawValue), .text(leaseOwner)])
        // Asked separately, since a renewal within the same second changes no row.
        return try isLeased(item, by: leaseOwner)
    }

    /// Whether a lease is still `leaseOwner`'s.
    public mutating func isLeased(_ item: OutboxID, by leaseOwner: String) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM outbox WHERE outbox_id = ? AND lease_owner = ?",
            [.int(item.rawValue), .text(leaseOwner)]
        ) { _ in true } ?? false
    }

    /// Gives up a lease, so that the work is done at once.
    public mutating func releaseLease(
        of item: OutboxID, by leaseOwner: String, at now: WireDate
    ) throws(StoreError) {
        try execute(
            "UPDATE outbox SET available_at = ?, lease_owner = NULL WHERE outbox_id = ? AND lease_owner = ?",
            [.date(now), .int(item.rawValue), .text(leaseOwner)])
    }

    /// Removes a row whose work is done, or was made unnecessary.
    /// - Returns: `false` if it is no longer `leaseOwner`'s.
    @discardableResult
    public mutating func complete(_ item: OutboxID, by leaseOwner: String) throws(StoreError) -> Bool {
        try execute(
            "DELETE FROM outbox WHERE outbox_id = ? AND lease_owner = ?",
            [.int(item.rawValue), .text(leaseOwner)]) == 1
    }

    /// Removes a row whose work is done, if it still is that of the user for whom it was leased.
    ///
    /// The account of a removed user may have a new one, who has taken the work over; what was done, with the tokens of the
    /// former one or with none, does not count for them.
    public mutating func complete(
        _ item: OutboxItem, by leaseOwner: String, at now: WireDate
    ) throws(StoreError) -> LeaseEnd {
        let removed = try execute(
            "DELETE FROM outbox WHERE outbox_id = ? AND lease_owner = ? AND user_id = ?",
            [.int(item.id.rawValue), .text(leaseOwner), .int(item.userID.rawValue)])
        return removed == 1 ? .asAsked : try passOn(item, by: leaseOwner, at: now)
    }

    /// Makes leased work due at once for the user who has taken it over.
    private mutating func passOn(
        _ item: OutboxItem, by leaseOwner: String, at now: WireDate
    ) throws(StoreError) -> LeaseEnd {
        guard try isLeased(item.id, by: leaseOwner) else { return .lostBefore }
        try releaseLease(of: item.id, by: leaseOwner, at: now)
        return .passedOn
    }

    /// Records which object leased work is about to make.
    public mutating func record(objectID: String, in item: OutboxID, by leaseOwner: String) throws(StoreError) {
        try execute(
            "UPDATE outbox SET object_id = ? WHERE outbox_id = ? AND lease_owner = ?",
            [.text(objectID), .int(item.rawValue), .text(leaseOwner)])
    }

    /// Puts work off until later; work that another user has taken over since it was leased is due for them at once.
    /// - Parameter error: a short word for the operator; never a token or a provider's text.
    @discardableResult
    public mutating func postpone(
        _ item: OutboxItem, by leaseOwner: String, until: WireDate, error: String, at now: WireDate
    ) throws(StoreError) -> LeaseEnd {
        let changed = try execute(
            """
            UPDATE outbox
               SET available_at = ?, lease_owner = NULL, last_error = ?, asked_until = NULL
             WHERE outbox_id = ?
               AND lease_owner = ?
               AND user_id = ?
            """,
            [
                .date(until), .text(String(error.prefix(255))), .int(item.id.rawValue), .text(leaseOwner),
                .int(item.userID.rawValue),
            ])
        return changed == 1 ? .asAsked : try passOn(item, by: leaseOwner, at: now)
    }

    /// Leases work that is due, the oldest first; rows that another process is leasing are passed over.
    ///
    /// Call in a transaction of its own: only the committed UPDATE is a lease, since row locks are local to a node of a
    /// cluster.
    public mutating func leaseDue(
        by leaseOwner: String, limit: Int, until: WireDate, at now: WireDate
    ) throws(StoreError) -> [OutboxItem] {
        let items = try all(
            """
            SELECT outbox_id, kind, user_id, storage_type, object_id, object_name, attempts, push_target,
                   sharing_group_id, registration_id, message, created_at, credentials, account_type, request_id
              FROM outbox
             WHERE available_at <= ?
             ORDER BY available_at
             LIMIT ?
               FOR UPDATE SKIP LOCKED
            """,
            [.date(now), .int(Int64(limit))]
        ) { row throws(StoreError) in
            let userID = UserID(try row.number(2))
            let storageType: CloudStorageType? = try row.optionalWord(3, Self.table, "storage_type")
            return OutboxItem(
                id: OutboxID(try row.number(0)), kind: try row.word(1, Self.table, "kind"), userID: userID,
                owner: storageType.map { OwningUser(userID: userID, storageType: $0) },
                objectID: row.optionalText(4),
                objectNames: row.optionalText(5)?.split(separator: Self.nameSeparator).map(String.init) ?? [],
                push: try Self.pushOrder(from: row, column: 7),
                grant: try Self.abandonedGrant(
                    from: row, column: 12, at: try row.date(11, Self.table, "created_at")),
                requestID: row.optionalText(14), attempts: Int(try row.number(6)))
        }
        for item in items {
            try execute(
                "UPDATE outbox SET available_at = ?, lease_owner = ?, attempts = attempts + 1 WHERE outbox_id = ?",
                [.date(until), .text(leaseOwner), .int(item.id.rawValue)])
        }
        return items
    }

    /// Whether a committed file or a staged change refers to an object, which then must not be deleted.
    ///
    /// Call after the outbox row for the object has been committed: nobody adopts the object from then on, so `false`
    /// stays true. Rows that were found stay locked to the end of the transaction.
    public mutating func isReferenced(_ objectID: String, of owner: OwningUser) throws(StoreError) -> Bool {
        let values: [Value] = [.int(owner.userID.rawValue), .text(objectID)]
        let inFiles = try first(
            "SELECT 1 FROM files WHERE owning_user_id = ? AND object_id = ? LIMIT 1 FOR UPDATE", values
        ) { _ in true }
        if inFiles == true { return true }
        return try first(
            "SELECT 1 FROM staged_changes WHERE owning_user_id = ? AND object_id = ? LIMIT 1 FOR UPDATE", values
        ) { _ in true } ?? false
    }

    /// Whether a file or staged change that an older server stored, and whose object has not been found yet, has that name
    /// in storage. Rows that were found stay locked to the end of the transaction.
    public mutating func isReferenced(_ name: CloudFileName, of owner: OwningUser) throws(StoreError) -> Bool {
        let values: [Value] = [
            .int(owner.userID.rawValue), .text(name.fileUUID.rawValue), .text(name.deviceUUID.rawValue),
            .int(Int64(name.fileVersion.rawValue)),
        ]
        let inFiles = try first(
            """
            SELECT 1
              FROM files
             WHERE owning_user_id = ?
               AND file_uuid = ?
               AND device_uuid = ?
               AND file_version = ?
               AND object_id IS NULL
               AND NOT is_deleted
             LIMIT 1
               FOR UPDATE
            """, values
        ) { _ in true }
        if inFiles == true { return true }
        return try first(
            """
            SELECT 1
              FROM staged_changes
             WHERE owning_user_id = ?
               AND file_uuid = ?
               AND device_uuid = ?
               AND file_version = ?
               AND object_id IS NULL
             LIMIT 1
               FOR UPDATE
            """, values
        ) { _ in true } ?? false
    }

    /// How much work waits, and since when the oldest of it.
    public mutating func outboxStatistics(at now: WireDate) throws(StoreError) -> (due: Int, oldest: WireDate?) {
        try first(
            "SELECT COUNT(*), MIN(created_at) FROM outbox WHERE available_at <= ?", [.date(now)]
        ) { row throws(StoreError) in
            (due: Int(try row.number(0)), oldest: row.isNull(1) ? nil : try row.date(1, Self.table, "created_at"))
        } ?? (due: 0, oldest: nil)
    }
}
