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
