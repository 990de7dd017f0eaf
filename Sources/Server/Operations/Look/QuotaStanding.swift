import MariaDB
public import Store
public import SyncProtocol

/// A user's usage of a quota.
public struct QuotaStanding: Equatable, Sendable, Encodable {
    /// At this percentage or above, a user counts as near a limit.
    static let nearPercent = 80

    /// One of ``Quota``.
    public var quota: String
    public var used: Int
    public var limit: Int

    public init(_ quota: Quota, used: Int, limit: Int) {
        self.quota = quota.rawValue
        self.used = used
        self.limit = limit
    }

    /// Rounded down.
    public var percent: Int { Self.percent(used: used, limit: limit) }

    static func percent(used: Int, limit: Int) -> Int {
        limit > 0 ? Int(Int64(used) * 100 / Int64(limit)) : 100
    }

    public var isNear: Bool { percent >= Self.nearPercent }
}

extension StoreSession {
    /// A user's usage, in the order of ``Quota``; without quotas that have no limit.
    mutating func quotaStandings(
        of userID: UserID, _ quotas: Quotas, at now: WireDate
    ) throws(StoreError) -> [QuotaStanding] {
        let id: [Value] = [.int(userID.rawValue)]
        var used: [Quota: Int] = [
            .devices: try count("SELECT COUNT(*) FROM devices WHERE user_id = ?", id),
            .groups: try groupCount(of: userID), .openInvitations: try openInvitationCount(by: userID, at: now),
        ]
        let staged = try stagedSize(of: userID)
        used[.stagedChanges] = staged.changes
        used[.stagedBytes] = staged.bytes
        let hours: [(quota: String, uses: Int)] = try all(
            """
            SELECT w.quota, w.uses
              FROM users u
              JOIN quota_windows w
                ON w.account_hash = \(SQL.accountHash("u.account_type", "u.provider_user_id"))
             WHERE u.user_id = ?
               AND w.window_end > UTC_TIMESTAMP()
            """, id
        ) { row throws(StoreError) in (try row.string(0), Int(try row.number(1))) }
        for hour in hours { if let quota = Quota(rawValue: hour.quota) { used[quota] = hour.uses } }
        var standings: [QuotaStanding] = []
        for quota in Quota.allCases {
            guard let limit = quotas[quota] else { continue }
            standings.append(QuotaStanding(quota, used: used[quota] ?? 0, limit: limit))
        }
        return standings
    }

    /// Users who are near a quota or have reached it, in the order of their numbers, after `after`, at most `limit` of
    /// them.
    ///
    /// It examines every user, a page at a time: for operators.
    public mutating func listUsersNearQuota(
        _ filter: UserFilter, after: UserID?, limit: Int, _ quotas: Quotas, at now: WireDate
    ) throws(StoreError) -> [ListedUser] {
        let page = 500
        var found: [ListedUser] = []
        var last = after
        while found.count < limit {
            let users = try listUsers(filter, after: last, limit: page, quotas, at: now)
            found += users.filter { $0.quotas.contains(where: \.isNear) }.prefix(limit - found.count)
            guard users.count == page else { break }
            last = users.last?.userID
        }
        return found
    }
}
