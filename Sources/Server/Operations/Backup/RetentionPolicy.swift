public import SyncProtocol

/// Which backups of a folder are kept: all of the two days before the newest, so that one made after an accident removes none
/// from before it; and the last one of each day, and of each week, for as many days and weeks as there are backups of. Days
/// without a backup do not count, so that nothing expires only because time goes by.
public struct RetentionPolicy: Equatable, Sendable {
    /// How many days and weeks; weeks begin on Monday, UTC.
    public var days: Int
    public var weeks: Int

    private static let secondsOfDay: Int64 = 86_400
    /// A backup belongs to the last two days also if its timer was late by an hour.
    private static let untouchedSeconds = 2 * secondsOfDay + 3_600

    public init(days: Int, weeks: Int) {
        self.days = days
        self.weeks = weeks
    }

    /// Those of `backups` that are kept; always the newest.
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
