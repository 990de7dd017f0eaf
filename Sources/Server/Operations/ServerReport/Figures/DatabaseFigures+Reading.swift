import MariaDB
public import Store
public import SyncProtocol

extension StoreSession {
    /// Counts all data for a report; call it in a snapshot. It reads the table of files once, and others a few times,
    /// without locks; the database returns at most one row for each day, storage and kind. A million files take seconds
    /// (docs/operations.md): for operators, not for calls every second.
    public mutating func figures(_ quotas: Quotas, at now: WireDate) throws(StoreError) -> DatabaseFigures {
        let files = try fileFigures()
        let totals = files.storage.reduce(into: FileTotals()) { totals, storage in
            totals.current += storage.files
            totals.deleted += storage.deletedFiles
            totals.bytes += storage.bytes
        }
        return DatabaseFigures(
            counts: try overview(at: now, totals), storage: files.storage, users: try userGrowth(),
            groups: try groupGrowth(),
            files: files.growth, outbox: try outboxFigures(at: now), quotas: try quotaUses(quotas, at: now))
    }

    // MARK: Creation times

    private mutating func userGrowth() throws(StoreError) -> GrowthCurve {
        var curve = GrowthCurve()
        try query(
            """
            SELECT DATEDIFF(created_at, '1970-01-01') AS made_on, COUNT(*) AS made
              FROM users
             GROUP BY made_on
             ORDER BY made_on
            """, []
        ) { row throws(StoreError) in
            let made = Int(try row.number("made"))
            curve.add(made, madeInAll: made, onDay: Int(try row.number("made_on")))
        }
        return curve
    }

    private mutating func groupGrowth() throws(StoreError) -> GrowthCurve {
        var curve = GrowthCurve()
        try query(
            """
            SELECT DATEDIFF(created_at, '1970-01-01') AS made_on, COUNT(*) AS made, SUM(NOT is_deleted) AS living
              FROM sharing_groups
             GROUP BY made_on
             ORDER BY made_on
            """, []
        ) { row throws(StoreError) in
            curve.add(
                Int(try row.number("living")), madeInAll: Int(try row.number("made")),
                onDay: Int(try row.number("made_on")))
        }
        return curve
    }

    /// Files are the largest table, so one pass collects all figures.
    private mutating func fileFigures() throws(StoreError) -> (
        storage: [DatabaseFigures.Storage], growth: GrowthCurve
    ) {
        var storage: [CloudStorageType: DatabaseFigures.Storage] = [:]
        var curve = GrowthCurve()
        try query(
            """
            SELECT DATEDIFF(created_at, '1970-01-01') AS made_on, storage_type, COUNT(*) AS made,
                   SUM(NOT is_deleted) AS living, SUM(IF(is_deleted, 0, size_bytes)) AS living_bytes,
                   SUM(NOT is_deleted AND size_bytes IS NULL) AS unmeasured
              FROM files
             GROUP BY made_on, storage_type
             ORDER BY made_on, storage_type
            """, []
        ) { row throws(StoreError) in
            let type: CloudStorageType = try row.word("storage_type")
            let made = Int(try row.number("made"))
            let living = Int(try row.number("living"))
            curve.add(living, madeInAll: made, onDay: Int(try row.number("made_on")))
            var sum =
                storage[type]
                ?? DatabaseFigures.Storage(
                    storageType: type, files: 0, bytes: 0, filesOfUnknownSize: 0, deletedFiles: 0)
            sum.files += living
            sum.bytes += try row.optionalNumber("living_bytes") ?? 0
            sum.filesOfUnknownSize += Int(try row.number("unmeasured"))
            sum.deletedFiles += made - living
            storage[type] = sum
        }
        return (CloudStorageType.allCases.compactMap { storage[$0] }, curve)
    }

    // MARK: Work and limits

    private mutating func outboxFigures(at now: WireDate) throws(StoreError) -> [DatabaseFigures.Work] {
        try all(
            """
            SELECT kind, COUNT(*) AS jobs, SUM(available_at <= ?) AS due,
                   SUM(lease_owner IS NOT NULL AND available_at > ?) AS leased, SUM(last_error IS NOT NULL) AS failing,
                   MIN(created_at) AS first_made
              FROM outbox
             GROUP BY kind
             ORDER BY kind
            """, [.date(now), .date(now)]
        ) { row throws(StoreError) in
            DatabaseFigures.Work(
                kind: try row.string("kind"), rows: Int(try row.number("jobs")), due: Int(try row.number("due")),
                leased: Int(try row.number("leased")), failing: Int(try row.number("failing")),
                oldestSeconds: max(0, now.secondsSince1970 - (try row.date("first_made")).secondsSince1970))
        }
    }

    private mutating func quotaUses(
        _ quotas: Quotas, at now: WireDate
    ) throws(StoreError) -> [DatabaseFigures.QuotaUse] {
        var uses: [DatabaseFigures.QuotaUse] = []
        for quota in Quota.allCases {
            guard let limit = quotas[quota] else { continue }
            uses.append(try quotaUse(of: quota, limit: limit, at: now))
        }
        return uses
    }

    private mutating func quotaUse(
        of quota: Quota, limit: Int, at now: WireDate
    ) throws(StoreError) -> DatabaseFigures.QuotaUse {
        var values: [Value] = []
        let uses: SQL
        switch quota {
        case .devices: uses = "SELECT COUNT(*) AS used FROM devices GROUP BY user_id"
        case .groups: uses = "SELECT COUNT(*) AS used FROM memberships GROUP BY user_id"
        case .openInvitations:
            uses = "SELECT COUNT(*) AS used FROM invitations WHERE expires_at > ? GROUP BY inviting_user_id"
            values = [.date(now)]
        case .stagedChanges: uses = "SELECT COUNT(*) AS used FROM staged_changes GROUP BY user_id"
        case .stagedBytes: uses = "SELECT SUM(app_metadata_bytes) AS used FROM staged_changes GROUP BY user_id"
        case .groupsPerHour, .invitationsPerHour, .codeExchangesPerHour, .pushRegistrationsPerHour,
            .accountSwitchesPerHour:
            uses = "SELECT uses AS used FROM quota_windows WHERE quota = ? AND window_end > UTC_TIMESTAMP()"
            values = [.text(quota.rawValue)]
        }
        let found = try first(
            """
            SELECT MAX(used) AS highest, SUM(used * 100 >= ? * \(QuotaStanding.nearPercent)) AS near,
                   SUM(used >= ?) AS reached
              FROM (\(uses)) AS of_each_user
            """, [.int(Int64(limit)), .int(Int64(limit))] + values
        ) { row throws(StoreError) in
            DatabaseFigures.QuotaUse(
                quota: quota.rawValue, limit: limit, highest: Int(try row.optionalNumber("highest") ?? 0),
                usersNear: Int(try row.optionalNumber("near") ?? 0),
                usersAtLimit: Int(try row.optionalNumber("reached") ?? 0))
        }
        return found
            ?? DatabaseFigures.QuotaUse(
                quota: quota.rawValue, limit: limit, highest: 0, usersNear: 0, usersAtLimit: 0)
    }
}
