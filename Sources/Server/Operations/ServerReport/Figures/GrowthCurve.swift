import SyncProtocol

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
