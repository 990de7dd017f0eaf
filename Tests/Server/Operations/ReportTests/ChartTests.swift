import Foundation
import Posix
import SyncProtocol
import Testing

@testable import Operations

@Suite("Charts of a report")
struct ChartTests {
    private static func svg(_ chart: any Chart) -> String {
        chart.drawing.svg(id: "c", title: "T", description: chart.description).markup
    }

    private static func marks(_ chart: any Chart) -> [String] {
        svg(chart).split(separator: "\n").map(String.init).filter { $0.contains("class=\"mark ") }
    }

    /// The number in an attribute of an element.
    private static func attribute(_ name: String, of element: String) -> Double? {
        let parts = element.components(separatedBy: " \(name)=\"")
        return parts.count == 2 ? Double(parts[1].prefix { $0 != "\"" }) : nil
    }

    private static func day(_ date: String) -> Int? { WireDate(date + " 00:00:00").map(GrowthCurve.day(of:)) }

    // MARK: Bars

    @Test("The longest bar fills the width, the others are proportional to it, and parts are side by side")
    func bars() {
        let chart = BarChart([
            .init("a", "3", [.init(2, .main, "good"), .init(1, .bad, "failed")]),
            .init("b", "1", [.init(1.5, .main, "good"), .init(0, .bad, "failed")]),
        ])
        let marks = Self.marks(chart)

        #expect(marks.count == 3, "an empty part is not drawn")
        #expect(marks.map { Self.attribute("x", of: $0) } == [0, 266.7, 0])
        #expect(marks.map { Self.attribute("width", of: $0) } == [266.7, 133.3, 200])
        #expect(marks[1].contains("class=\"mark bad\"") && marks[1].contains("<title>a: failed</title>"))
    }

    @Test("Small values are visible, and stay within the picture")
    func little() {
        func parts(_ good: Double) -> [BarChart.Part] {
            [.init(good, .main, "good"), .init(1, .warning, "refused"), .init(1, .bad, "failed")]
        }
        let marks = Self.marks(BarChart([.init("a", "1", parts(1e9)), .init("b", "1", parts(1))]))

        #expect(marks.map { Self.attribute("x", of: $0) } == [0, 396, 398, 0, 2, 4])
        #expect(marks.map { Self.attribute("width", of: $0) } == [400, 4, 2, 2, 2, 2])
    }

    @Test("A chart without bars, or with only zeros, is empty; one value is enough for a chart")
    func emptyBars() {
        #expect(BarChart([]).isEmpty)
        #expect(BarChart([.init("a", "0", [.init(0, .main, "")]), .init("b", "0", [])]).isEmpty)
        #expect(!BarChart([.init("a", "0", [.init(0, .main, ""), .init(0.1, .bad, "")])]).isEmpty)
    }

    @Test("On a logarithmic scale a factor of ten has the same length everywhere, and nothing leaves the picture")
    func logarithmic() {
        let scale = BarChart.Scale.logarithmic(
            minimum: 1, maximum: 10_000, ticks: [1, 100, 10_000].map { Tick(value: $0, label: "\($0)") })
        let chart = BarChart(
            [0.5, 10, 1_000, 1e300].map { .init("a", "", [.init($0, .main, "")]) }, .overlaid, scale: scale)

        #expect(Self.marks(chart).map { Self.attribute("width", of: $0) } == [2, 100, 300, 400])
        #expect(Self.svg(chart).contains(">100.0</text>"))
    }

    @Test("Names and figures that are too long for a phone are shortened, names first")
    func long() {
        let name = String(repeating: "n", count: 80)
        let text = Self.svg(BarChart([.init(name, "12 GiB in 1234 files", [.init(1, .main, "")])]))

        #expect(text.contains(">\(String(repeating: "n", count: 33))…</text>"))
        #expect(text.contains(">12 GiB in 1234 files</text>"))
    }

    @Test("Texts never become markup, wherever they appear")
    func escaped() {
        let hostile = "</svg><script>\"'&\u{202e}"
        let chart = BarChart(
            [.init(hostile, hostile, [.init(1, .main, hostile)])],
            scale: .logarithmic(minimum: 1, maximum: 9, ticks: [Tick(value: 1, label: hostile)]))
        let text = chart.drawing.svg(id: "c", title: hostile, description: hostile).markup

        #expect(!text.contains("<script") && text.split(separator: "</svg>").count == 2)
        #expect(!text.contains("\u{202e}") && !text.contains("\"'&"))
        #expect(text.contains("&lt;/svg&gt;&lt;script&gt;&quot;&#39;&amp;\\u{202e}"))
    }

    // MARK: Steps

    private static func steps(_ points: [(time: Double, count: Int)], until end: Double) -> StepChart {
        StepChart(
            series: [
                .init(tone: .second, points: points.map { ($0.time, $0.count * 2) }),
                .init(tone: .main, points: points),
            ],
            end: end, times: Tick.dates(from: Int(points.first?.time ?? end), to: Int(end)), legend: [], description: ""
        )
    }

    @Test("A line rises in a step at each point, and the last count holds until the end")
    func line() throws {
        let text = Self.svg(Self.steps([(0, 1), (4, 5)], until: 9))

        // 10 units of time on 356 of width, 10 of counts on 140 of height.
        #expect(text.contains("<path class=\"mark line main\" d=\"M44 150H80V136H222V80H400V80\"/>"))
        #expect(text.contains("<path class=\"mark line second\" d=\"M44 150H80V122H222V10H400V10\"/>"))
        #expect(text.contains("<path class=\"area main\" d=\"M44 150H80V136H222V80H400V80V150H44Z\"/>"))
        #expect(!text.contains("area second"))
    }

    @Test("A single point from today is drawn; a line of zeros is not, and a chart with only such lines is empty")
    func fewSteps() {
        #expect(Self.marks(Self.steps([(20_000, 7)], until: 20_000)).count == 2)
        #expect(Self.steps([], until: 20_000).isEmpty && Self.steps([(19_000, 0)], until: 20_000).isEmpty)
        var ended = Self.steps([(19_000, 0)], until: 20_000)
        ended.series[0].points = [(19_000, 3)]
        #expect(!ended.isEmpty)
        #expect(Self.marks(ended).count == 1 && Self.marks(ended)[0].contains("line second"))
    }

    @Test("Ten thousand points are reduced to the number that fits on a screen")
    func manySteps() {
        let text = Self.svg(Self.steps((0..<10_000).map { (Double($0), $0) }, until: 10_000))

        #expect(text.utf8.count < 30_000)
        #expect(text.contains("V10H400V10\"/>"), "it ends at the highest point")
    }

    // MARK: Axes

    @Test(
        "An axis of counts has round whole numbers up to the first that is high enough",
        arguments: [
            (0, ["0", "1"]), (1, ["0", "1"]), (2, ["0", "1", "2"]), (5, ["0", "1", "2", "3", "4", "5"]),
            (6, ["0", "2", "4", "6"]), (26, ["0", "10", "20", "30"]), (1_001, ["0", "500", "1k", "1.5k"]),
            (1_234_567, ["0", "500k", "1M", "1.5M"]), (Int.max, ["0", "2E", "4E", "6E", "8E", "10E"]),
        ])
    func counts(maximum: Int, labels: [String]) {
        let ticks = Tick.wholeNumbers(upTo: maximum)

        #expect(ticks.map(\.label) == labels)
        #expect(ticks.last.map { $0.value >= Double(maximum) } == true)
    }

    @Test(
        "A time axis marks as many days, or beginnings of months or years, as fit",
        arguments: [
            ("2026-11-25", "2026-11-25", ["11-25"]),
            ("2026-11-22", "2026-11-25", ["11-22", "11-23", "11-24", "11-25"]),
            ("2026-10-01", "2026-11-25", ["10-14", "10-28", "11-11", "11-25"]),
            ("2026-08-02", "2026-11-25", ["2026-09", "2026-10", "2026-11"]),
            ("2026-01-01", "2026-11-25", ["2026-01", "2026-04", "2026-07", "2026-10"]),
            ("2023-11-25", "2026-11-25", ["2024", "2025", "2026"]),
            ("1970-01-01", "2026-11-25", ["1980", "2000", "2020"]),
        ])
    func dates(first: String, last: String, labels: [String]) throws {
        let days = try [first, last].map { try #require(Self.day($0)) }

        let ticks = Tick.dates(from: days[0], to: days[1])

        #expect(ticks.map(\.label) == labels)
        #expect(ticks.allSatisfy { days[0]...days[1] ~= Int($0.value) })
    }

    @Test("For any length of time, an axis has some dates, but no more than fit")
    func lengths() {
        let today = 20_782
        for length in 0..<7_000 {
            let ticks = Tick.dates(from: today - length, to: today)
            #expect((1...5).contains(ticks.count), "\(length) days: \(ticks.map(\.label))")
            #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $0.value < $1.value })
        }
        #expect((1...5).contains(Tick.dates(from: -700_000, to: 2_900_000).count))
        #expect(Tick.dates(from: 2, to: 1).isEmpty)
    }
}
