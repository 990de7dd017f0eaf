import SyncProtocol

extension Tick {
    /// The number of dates that fit on an axis.
    private static let maximumDates = 5
    /// A shorter period contains too few beginnings of months.
    private static let manyDays = 62
    private static let monthSteps = [1, 2, 3, 6] + [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000].map { $0 * 12 }

    /// Dates between two days, in days since 1970-01-01: beginnings of months such as `2026-11` or of years such as
    /// `2026`, or, within two months, days such as `11-25`, including the last day.
    ///
    /// They are evenly spaced in the calendar; their number fits on the axis.
    static func dates(from first: Int, to last: Int) -> [Tick] {
        guard last >= first else { return [] }
        if last - first <= manyDays {
            let step = [1, 2, 5, 7, 14].first { (last - first) / $0 < maximumDates } ?? 14
            let days = stride(from: last, through: first, by: -step).reversed()
            return days.map { Tick(value: Double($0), label: String(GrowthCurve.date(ofDay: $0).dropFirst(5))) }
        }
        let months = Self.month(of: first)...Self.month(of: last)
        let step = monthSteps.first { months.count / $0 < maximumDates } ?? 1
        let length = step % 12 == 0 ? 4 : 7
        return months.filter { $0 % step == 0 }.compactMap { month in
            let start = WireDate(year: month / 12, month: month % 12 + 1, day: 1, hour: 0, minute: 0, second: 0)
            // The first day's month began earlier, unless the day is the first of the month.
            guard let day = start.map(GrowthCurve.day(of:)), day >= first else { return nil }
            return Tick(value: Double(day), label: String(GrowthCurve.date(ofDay: day).prefix(length)))
        }
    }

    /// Months since the beginning of the year 0.
    private static func month(of day: Int) -> Int {
        let parts = GrowthCurve.date(ofDay: day).split(separator: "-").compactMap { Int($0) }
        return parts[0] * 12 + parts[1] - 1
    }
}
