import MariaDB
public import SyncProtocol

/// The outcome of ending a lease of work.
public enum LeaseEnd: Equatable, Sendable {
    /// It was completed or postponed.
    case asAsked
    /// It now belongs to another user, for whom it is due at once.
    case passedOn
    /// The lease had already ended: the work belongs to another worker, or is finished.
    case lostBefore
}

extension StoreSession {
    /// A new row for work in storage, with the columns that its kind uses.
    func row(
        for work: StorageWork, of owner: OwningUser, availableAt: WireDate, at now: WireDate
    ) -> ColumnValues {
        work.columnValues + [
            "user_id": .int(owner.userID.rawValue), "storage_type": .text(owner.storageType.rawValue),
            "available_at": .date(availableAt), "created_at": .date(now), "request_id": requestValue,
        ]
    }

    /// - Parameter details: further columns of the row.
    @discardableResult
    mutating func add(
        _ work: StorageWork, of owner: OwningUser, availableAt: WireDate, at now: WireDate,
        details: ColumnValues = [:]
    ) throws(StoreError) -> OutboxID {
        let row = row(for: work, of: owner, availableAt: availableAt, at: now) + details
        return OutboxID(
            try insert("INSERT INTO outbox (\(row.columns)) VALUES (\(valuesOf: row.columns))", row.values))
    }

    /// Schedules the deletion of an object from `availableAt` on, unless a row refers to it by then.
    @discardableResult
    public mutating func addDeletion(
        of objectID: String, in owner: OwningUser, availableAt: WireDate, at now: WireDate
    ) throws(StoreError) -> OutboxID {
        try add(
            .deleteObject(ObjectReference(objectID: objectID)), of: owner, availableAt: availableAt, at: now)
    }

    /// Schedules the deletion of a staged upload's object, unless a row refers to it by then; call when it is no longer
    /// staged.
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

    /// Schedules the deletion of an object by identifier, or by name if an older server stored it and it was never
    /// looked up.
    mutating func addDeletion(
        of objectID: String?, named name: CloudFileName?, in owner: OwningUser, at now: WireDate
    ) throws(StoreError) {
        if let objectID {
            try addDeletion(of: objectID, in: owner, availableAt: now, at: now)
        } else if let name {
            try add(.deleteObject(ObjectReference(names: [name.rawValue])), of: owner, availableAt: now, at: now)
        }
    }

    /// Schedules the deletion of an unreferenced object, unless a row refers to it by then: by its identifier, or by
    /// the name that an older server gave it.
    package mutating func addDeletion(
        ofOrphan objectID: String, named name: CloudFileName, in owner: OwningUser, at now: WireDate
    ) throws(StoreError) {
        try add(
            .deleteObject(ObjectReference(objectID: objectID, names: [name.rawValue])), of: owner, availableAt: now,
            at: now)
    }

    /// Records an upload before its first byte is sent: if it dies, the outbox deletes the object it may have created
    /// once the lease has expired. For a provider that identifies objects only afterwards, `objectID` is `nil` and the
    /// names are used.
    ///
    /// A single statement that waits for a removal of the owner, and for a switch of their account: either that
    /// transaction finds the row, or the upload does not begin.
    /// - Parameter epoch: the owner's account that the storage was opened with.
    /// - Throws: ``StoreError/notFound`` if the owner no longer exists, or has a different account.
    public mutating func addIntent(
        toStore objectID: String?, named names: [String], in owner: OwningUser, at epoch: AccountEpoch,
        leaseOwner: String, until: WireDate, at now: WireDate
    ) throws(StoreError) -> OutboxID {
        let object = ObjectReference(objectID: objectID, names: names)
        let row =
            row(for: .deleteObject(object), of: owner, availableAt: until, at: now)
            + ["lease_owner": .text(leaseOwner)]
        let id = try insertSelected(
            """
            INSERT INTO outbox (\(row.columns))
            SELECT \(valuesOf: row.columns)
              FROM users
             WHERE user_id = ?
               AND account_epoch = ?
              LOCK IN SHARE MODE
            """, row.values + [.int(owner.userID.rawValue), .int(epoch.rawValue)])
        guard let id else { throw .notFound }
        return OutboxID(id)
    }

    /// Removes the intent of an upload when a row refers to its object.
    ///
    /// - Parameter epoch: the owner's account that the storage was opened with. The removal of the row by a switch may be
    ///   committed on another node of a cluster at the same moment, so the account is compared as well.
    /// - Returns: `false` if `leaseOwner` no longer holds the lease, or the owner has a different account.
    public mutating func completeIntent(
        _ item: OutboxID, at epoch: AccountEpoch, by leaseOwner: String
    ) throws(StoreError) -> Bool {
        try execute(
            """
            DELETE FROM outbox
             WHERE outbox_id = ?
               AND lease_owner = ?
               AND EXISTS (SELECT 1 FROM users u WHERE u.user_id = outbox.user_id AND u.account_epoch = ?)
            """,
            [.int(item.rawValue), .text(leaseOwner), .int(epoch.rawValue)]) == 1
    }

    /// Schedules writing the warning file into a new owner's storage.
    public mutating func addWarningFile(for owner: OwningUser, at now: WireDate) throws(StoreError) {
        try add(.writeWarningFile(objectID: nil), of: owner, availableAt: now, at: now)
    }

    /// Renews a lease.
    /// - Returns: `false` if `leaseOwner` no longer holds it; then the object may be deleted at any moment.
    public mutating func renewLease(
        of item: OutboxID, by leaseOwner: String, until: WireDate
    ) throws(StoreError) -> Bool {
        let changed = try execute(
            "UPDATE outbox SET available_at = ? WHERE outbox_id = ? AND lease_owner = ?",
            [.date(until), .int(item.rawValue), .text(leaseOwner)])
        // A renewal within the same second changes no row.
        if changed == 0 { return try isLeased(item, by: leaseOwner) }
        return true
    }

    /// Whether `leaseOwner` still holds a lease.
    public mutating func isLeased(_ item: OutboxID, by leaseOwner: String) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM outbox WHERE outbox_id = ? AND lease_owner = ?",
            [.int(item.rawValue), .text(leaseOwner)]
        ) { _ in true } ?? false
    }

    /// Releases a lease, so that the work is done at once.
    public mutating func releaseLease(
        of item: OutboxID, by leaseOwner: String, at now: WireDate
    ) throws(StoreError) {
        try execute(
            "UPDATE outbox SET available_at = ?, lease_owner = NULL WHERE outbox_id = ? AND lease_owner = ?",
            [.date(now), .int(item.rawValue), .text(leaseOwner)])
    }

    /// Removes a row whose work is finished or has become unnecessary.
    /// - Returns: `false` if `leaseOwner` no longer holds it.
    @discardableResult
    public mutating func complete(_ item: OutboxID, by leaseOwner: String) throws(StoreError) -> Bool {
        try execute(
            "DELETE FROM outbox WHERE outbox_id = ? AND lease_owner = ?",
            [.int(item.rawValue), .text(leaseOwner)]) == 1
    }

    /// Removes a row whose work is finished, if it still belongs to the user for whom it was leased.
    ///
    /// A new user may have signed up with a removed user's account and taken the work over; work that was done with the
    /// former user's tokens, or with none, does not count for the new user.
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

    /// Records the object that leased work is about to create.
    public mutating func record(objectID: String, in item: OutboxID, by leaseOwner: String) throws(StoreError) {
        try execute(
            "UPDATE outbox SET object_id = ? WHERE outbox_id = ? AND lease_owner = ?",
            [.text(objectID), .int(item.rawValue), .text(leaseOwner)])
    }

    /// Postpones work; work that another user has taken over since it was leased is due for them at once.
    /// - Parameters:
    ///   - error: a short word for the operator; never a token or a provider's text.
    ///   - isAttempt: whether it was attempted, and not only examined.
    @discardableResult
    public mutating func postpone(
        _ item: OutboxItem, by leaseOwner: String, until: WireDate, error: String, isAttempt: Bool = true,
        at now: WireDate
    ) throws(StoreError) -> LeaseEnd {
        let changed = try execute(
            """
            UPDATE outbox
               SET available_at = ?, lease_owner = NULL, last_error = ?, asked_until = NULL,
                   attempts = GREATEST(attempts - ?, 0)
             WHERE outbox_id = ?
               AND lease_owner = ?
               AND user_id = ?
            """,
            [
                .date(until), .text(String(error.prefix(255))), .int(isAttempt ? 0 : 1), .int(item.id.rawValue),
                .text(leaseOwner), .int(item.userID.rawValue),
            ])
        return changed == 1 ? .asAsked : try passOn(item, by: leaseOwner, at: now)
    }

    /// Leases due work, the oldest first; skips rows that another process is leasing.
    ///
    /// Call in a separate transaction: only the committed UPDATE is a lease, because row locks are local to a node of a
    /// cluster.
    public mutating func leaseDue(
        by leaseOwner: String, limit: Int, until: WireDate, at now: WireDate
    ) throws(StoreError) -> [OutboxItem] {
        let items = try all(
            """
            SELECT \(OutboxItem.columns)
              FROM outbox
             WHERE available_at <= ?
             ORDER BY available_at
             LIMIT ?
               FOR UPDATE SKIP LOCKED
            """,
            [.date(now), .int(Int64(limit))], OutboxItem.init(_:))
        for item in items {
            try execute(
                "UPDATE outbox SET available_at = ?, lease_owner = ?, attempts = attempts + 1 WHERE outbox_id = ?",
                [.date(until), .text(leaseOwner), .int(item.id.rawValue)])
        }
        return items
    }

    /// Whether a committed file or a staged change refers to an object, which must then not be deleted.
    ///
    /// Call after the outbox row for the object has been committed: the object cannot be adopted from then on, so
    /// `false` remains true. Rows that were found stay locked until the end of the transaction.
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

    /// Whether a file or staged change that an older server stored, and whose object has not been found yet, has that
    /// name in storage. Rows that were found stay locked until the end of the transaction.
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
               AND content_state = 'stored'
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

    /// How much work is due, and since when the oldest has been due.
    public mutating func outboxStatistics(at now: WireDate) throws(StoreError) -> (due: Int, oldest: WireDate?) {
        try first(
            "SELECT COUNT(*), MIN(created_at) FROM outbox WHERE available_at <= ?", [.date(now)]
        ) { row throws(StoreError) in
            (due: Int(try row.number(0)), oldest: try row.optionalDate(1))
        } ?? (due: 0, oldest: nil)
    }
}

/// How much work is pending, for monitoring.
public struct Backlog: Equatable, Sendable {
    /// Rows of the outbox by kind.
    public var outbox: [String: Int] = [:]
    /// The number of outbox rows that are due, and the due time of the first of them.
    public var due = 0
    public var firstDue: WireDate?
    /// When the oldest outbox row that was attempted and still exists was inserted.
    public var firstRetried: WireDate?
    /// When the oldest manifest that has not been written was scheduled.
    public var firstManifest: WireDate?
    /// The number of staged changes, and when the oldest was staged.
    public var staged = 0
    public var firstStaged: WireDate?
}

extension StoreSession {
    /// Counts the work pending at `now`. Reads the keys of two tables that contain only unfinished work.
    public mutating func backlog(at now: WireDate) throws(StoreError) -> Backlog {
        var backlog = Backlog()
        let kinds = try all(
            """
            SELECT kind, COUNT(*) AS jobs, COUNT(IF(available_at <= ?, 1, NULL)) AS due,
                   MIN(IF(available_at <= ?, available_at, NULL)) AS first_due,
                   MIN(IF(attempts > 0, created_at, NULL)) AS first_retried, MIN(created_at) AS first_inserted
              FROM outbox
             GROUP BY kind
            """,
            [.date(now), .date(now)]
        ) { row throws(StoreError) in
            (
                kind: try row.string("kind"), count: Int(try row.number("jobs")), due: Int(try row.number("due")),
                firstDue: try row.optionalDate("first_due"), firstRetried: try row.optionalDate("first_retried"),
                first: try row.optionalDate("first_inserted")
            )
        }
        for kind in kinds {
            backlog.outbox[kind.kind] = kind.count
            backlog.due += kind.due
            backlog.firstDue = [backlog.firstDue, kind.firstDue].compactMap(\.self).min()
            if kind.kind == OutboxItem.Kind.writeManifest.rawValue { backlog.firstManifest = kind.first }
            backlog.firstRetried = [backlog.firstRetried, kind.firstRetried].compactMap(\.self).min()
        }
        let staged = try first("SELECT COUNT(*), MIN(staged_at) FROM staged_changes", []) { row throws(StoreError) in
            (count: Int(try row.number(0)), first: try row.optionalDate(1))
        }
        backlog.staged = staged?.count ?? 0
        backlog.firstStaged = staged?.first
        return backlog
    }
}
