import SyncProtocol
import Testing

@testable import Operations

@Suite("Growth over time")
struct GrowthCurveTests {
    private func curve(_ days: [Int]) -> GrowthCurve {
        var curve = GrowthCurve()
        for day in days { curve.add(1, madeInAll: 2, onDay: day) }
        return curve
    }

    @Test("Counts add up from day to day, and within a day")
    func sums() {
        let curve = curve([3, 3, 9])

        #expect(curve.points == [.init(day: 3, count: 2, madeInAll: 4), .init(day: 9, count: 3, madeInAll: 6)])
    }

    @Test("A table shows days if they fit, otherwise months, years, or the newest years; newest first")
    func milestones() {
        let today = 20_782  // 2026-11-25
        let months = curve((0..<100).map { today - 99 + $0 })
        let years = curve((0..<1_000).map { today - 999 + $0 })
        let centuries = curve((0..<200).map { today - (199 - $0) * 365 })

        #expect(curve([today - 1, today]).milestones(limit: 3).map(\.period) == ["2026-11-25", "2026-11-24"])
        #expect(
            months.milestones(limit: 12).map(\.period) == ["2026-11", "2026-10", "2026-09", "2026-08"])
        #expect(years.milestones(limit: 12).map(\.period) == ["2026", "2025", "2024"])
        #expect(years.milestones(limit: 12).first?.point.count == 1_000)
        #expect(centuries.milestones(limit: 12).count == 12)
        #expect(curve([]).milestones(limit: 12).isEmpty)
    }

    @Test("Days are UTC days, even before 1970")
    func days() {
        #expect(GrowthCurve.day(of: WireDate("1969-12-31 23:59:59")!) == -1)
        #expect(GrowthCurve.date(ofDay: -1) == "1969-12-31" && GrowthCurve.date(ofDay: 20_782) == "2026-11-25")
    }
}
