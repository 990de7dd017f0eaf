import MariaDB
public import Store
public import SyncProtocol

/// A report's figures about the database: counts and sums from one moment, without names.
public struct DatabaseFigures: Equatable, Sendable, Encodable {
    /// The contents of all owners' folders in storages of one kind.
    public struct Storage: Equatable, Sendable, Encodable {
        public var storageType: CloudStorageType
        /// Current files.
        public var files: Int
        /// The total size of those whose size is known.
        public var bytes: Int64
        public var filesOfUnknownSize: Int
        /// Rows of deleted files, which are no longer in the storage.
        public var deletedFiles: Int
    }

    /// Pending work of one kind.
    public struct Work: Equatable, Sendable, Encodable {
        public var kind: String
        public var rows: Int
        public var due: Int
        /// In progress, or the intent of an upload in progress.
        public var leased: Int
        /// Failed at least once.
        public var failing: Int
        /// Age of the oldest row.
        public var oldestSeconds: Int64
    }

    /// Users' usage of one limit.
    public struct QuotaUse: Equatable, Sendable, Encodable {
        /// One of ``Quota``.
        public var quota: String
        public var limit: Int
        /// The highest usage by one user.
        public var highest: Int
        /// Users who have used at least ``QuotaStanding/nearPercent``, including those at the limit.
        public var usersNear: Int
        public var usersAtLimit: Int
    }

    public var counts: StoreOverview
    /// In the order of ``CloudStorageType``; without kinds that have no files.
    public var storage: [Storage]
    /// By the time of sign-up; people who have removed their account are not counted.
    public var users: GrowthCurve
    /// By the time of their creation.
    public var groups: GrowthCurve
    /// By the time of their first version's upload.
    public var files: GrowthCurve
    /// Without kinds that have no work.
    public var outbox: [Work]
    /// In the order of ``Quota``; without quotas that have no limit.
    public var quotas: [QuotaUse]
}

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

/// The number of items of a kind, by the day of their creation. The database stores when a row was created and, for
/// some kinds, that it has ended since then, but not when. So the curve shows the age of today's items, not the counts
/// on earlier days.
public struct GrowthCurve: Equatable, Sendable, Encodable {
    /// The end of a day, UTC.
    public struct Point: Equatable, Sendable, Encodable {
        /// Days since 1970-01-01.
        var day: Int
        /// The number of today's items that had been created by then.
        public var count: Int
        /// The number of items created by then, including those that have ended since then.
        public var madeInAll: Int

        private enum CodingKeys: CodingKey { case date, count, madeInAll }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(GrowthCurve.date(ofDay: day), forKey: .date)
            try container.encode(count, forKey: .count)
            try container.encode(madeInAll, forKey: .madeInAll)
        }
    }

    /// Only days with new items; ascending.
    public private(set) var points: [Point] = []

    /// Adds the items of a day; days must be ascending, and can repeat.
    mutating func add(_ count: Int, madeInAll: Int, onDay day: Int) {
        let last = points.last ?? Point(day: day, count: 0, madeInAll: 0)
        if last.day == day, !points.isEmpty { points.removeLast() }
        points.append(Point(day: day, count: last.count + count, madeInAll: last.madeInAll + madeInAll))
    }

    /// The points for a table: the last of each day, month or year, whichever gives at most `limit`, newest first. If
    /// there are too many years, the oldest are omitted.
    func milestones(limit: Int) -> [(period: String, point: Point)] {
        // The beginnings of 2026-11-25, 2026-11 and 2026.
        for length in [10, 7, 4] {
            var found: [(period: String, point: Point)] = []
            for point in points.reversed() {
                let period = String(Self.date(ofDay: point.day).prefix(length))
                if found.last?.period != period { found.append((period, point)) }
            }
            if found.count <= limit || length == 4 { return Array(found.prefix(limit)) }
        }
        return []
    }

    /// Such as `2026-11-25`.
    static func date(ofDay day: Int) -> String {
        String(WireDate(secondsSince1970: Int64(day) * 86_400).description.prefix(10))
    }

    static func day(of date: WireDate) -> Int {
        Int((Double(date.secondsSince1970) / 86_400).rounded(.down))
    }
}
