public import SyncProtocol

/// The backups of a folder to keep: all of the two days before the newest, so that a backup taken after an accident
/// removes none from before it; and the last one of each day and of each week, for the configured number of days and
/// weeks. Days without a backup do not count, so that no backup expires only because time passes.
public struct RetentionPolicy: Equatable, Sendable {
    /// The numbers of days and weeks; weeks begin on Monday, UTC.
    public var days: Int
    public var weeks: Int

    private static let secondsOfDay: Int64 = 86_400
    /// The last two days, plus an hour for a late timer.
    private static let untouchedSeconds = 2 * secondsOfDay + 3_600

    public init(days: Int, weeks: Int) {
        self.days = days
        self.weeks = weeks
    }

    /// The backups to keep; always includes the newest.
    public func kept(of backups: [WireDate]) -> Set<WireDate> {
        let newestFirst = Set(backups).sorted(by: >)
        var kept = Set(newestFirst.prefix(1))
        kept.formUnion(
            newestFirst.prefix { newestFirst[0].secondsSince1970 - $0.secondsSince1970 < Self.untouchedSeconds })
        kept.formUnion(Self.lastOfEach(newestFirst, days) { Self.day(of: $0) })
        // 1970 began on a Thursday.
        kept.formUnion(Self.lastOfEach(newestFirst, weeks) { (Self.day(of: $0) + 3) / 7 })
        return kept
    }

    private static func day(of date: WireDate) -> Int64 { date.secondsSince1970 / secondsOfDay }

    private static func lastOfEach(
        _ newestFirst: [WireDate], _ count: Int, _ period: (WireDate) -> Int64
    ) -> [WireDate] {
        var seen: Set<Int64> = []
        return newestFirst.filter { seen.count < count && seen.insert(period($0)).inserted }
    }
}
