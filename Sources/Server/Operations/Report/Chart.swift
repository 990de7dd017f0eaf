import Glibc
import Posix

/// A chart that a page can show.
protocol Chart {
    var drawing: Drawing { get }
    /// Whether no value is above 0, so that nothing would be visible.
    var isEmpty: Bool { get }
    /// Empty if the chart has only one tone.
    var legend: [LegendEntry] { get }
    /// A description of the picture in one or two sentences.
    var description: String { get }
}

/// The meaning of a mark's colour; the page's style sheet defines the colours, for light and dark screens.
enum Tone {
    /// The main quantity.
    case main
    /// A less important part.
    case second
    /// The least important part.
    case third
    /// Needs attention.
    case warning
    /// A problem.
    case bad

    /// The class in the style sheet.
    var className: HTMLText {
        switch self {
        case .main: "main"
        case .second: "second"
        case .third: "third"
        case .warning: "warning"
        case .bad: "bad"
        }
    }
}

/// The meaning of a tone in a chart.
struct LegendEntry {
    var tone: Tone
    var meaning: String

    init(_ tone: Tone, _ meaning: String) {
        self.tone = tone
        self.meaning = meaning
    }
}

/// Horizontal bars, one below the other. Each has its name and its figure above it, so that neither is cut off on a
/// phone.
struct BarChart: Chart {
    /// A part of a bar.
    struct Part {
        var value: Double
        var tone: Tone
        /// The explanation for a pointer that rests on it.
        var meaning: String

        init(_ value: Double, _ tone: Tone, _ meaning: String) {
            self.value = value
            self.tone = tone
            self.meaning = meaning
        }
    }

    struct Bar {
        var name: String
        /// The value, in words or digits.
        var figure: String
        var parts: [Part]

        init(_ name: String, _ figure: String, _ parts: [Part]) {
            self.name = name
            self.figure = figure
            self.parts = parts
        }
    }

    /// The arrangement of a bar's parts.
    enum Arrangement {
        /// Each begins where the previous one ends.
        case stacked
        /// All begin at the left; a part hides shorter ones below it, so they must be in descending order.
        case overlaid
    }

    /// The conversion of values to widths.
    enum Scale: Equatable {
        case linear(maximum: Double)
        /// The same factor has the same width everywhere; values below the minimum are drawn as the minimum.
        case logarithmic(minimum: Double, maximum: Double, ticks: [Tick])
    }

    private static let rowHeight = 38.0
    private static let barHeight = 12.0
    /// Keeps small values visible.
    private static let leastWidth = 2.0
    private static let tickHeight = 18.0
    /// The limit for name and figure together, in the widest font of browsers.
    private static let maximumCharacters = 54

    var bars: [Bar]
    var arrangement: Arrangement
    var scale: Scale
    var legend: [LegendEntry]

    /// - Parameter scale: by default a linear one up to the longest bar.
    init(_ bars: [Bar], _ arrangement: Arrangement = .stacked, scale: Scale? = nil, legend: [LegendEntry] = []) {
        self.bars = bars
        self.arrangement = arrangement
        self.scale =
            scale ?? .linear(maximum: bars.map { bar in bar.parts.map(\.value).reduce(0, +) }.max() ?? 0)
        self.legend = legend
    }

    var description: String { bars.map { "\($0.name): \($0.figure)." }.joined(separator: " ") }

    var isEmpty: Bool { bars.allSatisfy { $0.parts.allSatisfy { $0.value <= 0 } } }

    var drawing: Drawing {
        var ticks: [Tick] = []
        if case .logarithmic(_, _, let given) = scale { ticks = given }
        let bottom = Double(bars.count) * Self.rowHeight
        var drawing = Drawing(height: bottom + (ticks.isEmpty ? 0 : Self.tickHeight))
        for tick in ticks {
            let x = position(of: tick.value)
            drawing.addRule(from: (x, 0), to: (x, bottom))
            drawing.addText(tick.label, x: max(x, 16), y: bottom + 13, .middle, isQuiet: true)
        }
        for (index, bar) in bars.enumerated() {
            let top = Double(index) * Self.rowHeight
            drawing.addText(Self.shortened(bar.name, beside: bar.figure), x: 0, y: top + 14)
            drawing.addText(bar.figure, x: Drawing.width, y: top + 14, .right)
            // Ticks, if there are any, already show the maximum length.
            if ticks.isEmpty { drawing.addTrack(x: 0, y: top + 20, width: Drawing.width, height: Self.barHeight) }
            add(bar, to: &drawing, y: top + 20)
        }
        return drawing
    }

    private func add(_ bar: Bar, to drawing: inout Drawing, y: Double) {
        var sum = 0.0
        var begin = 0.0
        let parts = bar.parts.filter { $0.value > 0 }
        for (index, part) in parts.enumerated() {
            sum = arrangement == .stacked ? sum + part.value : part.value
            // The parts to the right need space for their minimum widths.
            begin = min(begin, Drawing.width - Self.leastWidth * Double(parts.count - index))
            let width = max(position(of: sum) - begin, Self.leastWidth)
            drawing.addBar(
                x: begin, y: y, width: width, height: Self.barHeight, part.tone, tip: "\(bar.name): \(part.meaning)")
            if arrangement == .stacked { begin += width }
        }
    }

    private static func shortened(_ name: String, beside figure: String) -> String {
        let room = max(8, maximumCharacters - figure.count)
        return name.count <= room ? name : name.prefix(room - 1) + "…"
    }

    private func position(of value: Double) -> Double {
        let share =
            switch scale {
            case .linear(let maximum): maximum > 0 ? value / maximum : 0
            case .logarithmic(let minimum, let maximum, _):
                value > minimum ? log10(value / minimum) / log10(maximum / minimum) : 0
            }
        return min(max(share, 0), 1) * Drawing.width
    }
}

/// Counts over time, which change in steps: a line for each series; the main tone's line has a filled area below it.
struct StepChart: Chart {
    struct Series {
        var tone: Tone
        /// Ascending; the last count holds until the end of the chart. The line begins at the first point.
        var points: [(time: Double, count: Int)]
    }

    private static let left = 44.0
    private static let top = 10.0
    private static let plotHeight = 140.0
    private static let height = 176.0
    /// Half the width of the widest date.
    private static let halfDate = 24.0

    /// From back to front.
    var series: [Series]
    /// The end of the chart's time axis. The axis begins one unit before the first point.
    var end: Double
    /// Times with names, ascending.
    var times: [Tick]
    var legend: [LegendEntry]
    var description: String

    private var beginning: Double {
        let first = series.compactMap(\.points.first?.time).min() ?? end
        return min(first, end) - 1
    }

    /// Counts never fall, so the last is the highest.
    var isEmpty: Bool { series.allSatisfy { ($0.points.last?.count ?? 0) <= 0 } }

    var drawing: Drawing {
        var drawing = Drawing(height: Self.height)
        let (start, last) = (beginning, max(end, series.compactMap(\.points.last?.time).max() ?? end))
        let ticks = Tick.wholeNumbers(upTo: series.compactMap(\.points.last?.count).max() ?? 0)
        let highest = ticks.last?.value ?? 1
        let floor = Self.top + Self.plotHeight
        func x(_ time: Double) -> Double {
            Self.left + (time - start) / (last - start) * (Drawing.width - Self.left)
        }
        func y(_ count: Double) -> Double { floor - count / highest * Self.plotHeight }

        for tick in ticks {
            drawing.addRule(from: (Self.left, y(tick.value)), to: (Drawing.width, y(tick.value)))
            drawing.addText(tick.label, x: Self.left - 6, y: y(tick.value) + 4, .right, isQuiet: true)
        }
        for series in series where (series.points.last?.count ?? 0) > 0 {
            var steps = [(x: x(start), y: floor)]
            // At most as many points as a screen can show.
            for point in series.points {
                let step = (x: x(point.time).rounded(), y: y(Double(point.count)))
                if let former = steps.last, former.x == step.x, steps.count > 1 { steps.removeLast() }
                steps.append(step)
            }
            steps.append((x: Drawing.width, y: steps.last?.y ?? floor))
            drawing.addSteps(steps, series.tone, floor: series.tone == .main ? floor : nil)
        }
        for tick in times where start <= tick.value && tick.value <= last {
            let x = x(tick.value)
            drawing.addRule(from: (x, floor), to: (x, floor + 4))
            drawing.addText(
                tick.label, x: min(x, Drawing.width - Self.halfDate), y: Self.height - 6, .middle, isQuiet: true)
        }
        return drawing
    }
}
