/// Counts over time, which change in steps: a line for each series, the first one on top of a filled area.
struct StepChart: Chart {
    struct Series {
        var tone: Tone
        /// Ascending; the last count holds until the end of the chart. Before the first there is nothing.
        var points: [(time: Double, count: Int)]
    }

    private static let left = 44.0
    private static let top = 10.0
    private static let plotHeight = 140.0
    private static let height = 176.0

    /// Those behind come first.
    var series: [Series]
    /// The end of the chart, on which it is drawn in any case. Its beginning is one unit before the first point.
    var end: Double
    /// What a time is called.
    var timeLabel: (Double) -> String
    var legend: [LegendEntry]
    var description: String

    private var beginning: Double {
        let first = series.compactMap(\.points.first?.time).min() ?? end
        return min(first, end) - 1
    }

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
        for (index, series) in series.enumerated() {
            var steps = [(x: x(start), y: floor)]
            // As many as a screen can show.
            for point in series.points {
                let step = (x: x(point.time).rounded(), y: y(Double(point.count)))
                if let former = steps.last, former.x == step.x, steps.count > 1 { steps.removeLast() }
                steps.append(step)
            }
            steps.append((x: Drawing.width, y: steps.last?.y ?? floor))
            drawing.addSteps(steps, series.tone, floor: index == self.series.count - 1 ? floor : nil)
        }
        addTimes(to: &drawing, from: start, to: last, x)
        return drawing
    }

    /// First and last, and those at the thirds unless they are the same.
    private func addTimes(to drawing: inout Drawing, from start: Double, to last: Double, _ x: (Double) -> Double) {
        let y = Self.height - 6
        drawing.addText(timeLabel(start + 1), x: x(start), y: y, .left, isQuiet: true)
        drawing.addText(timeLabel(last), x: Drawing.width, y: y, .right, isQuiet: true)
        guard last - start >= 9 else { return }
        for share in [1.0 / 3, 2.0 / 3] {
            let time = (start + (last - start) * share).rounded()
            drawing.addText(timeLabel(time), x: x(time), y: y, .middle, isQuiet: true)
        }
    }
}
