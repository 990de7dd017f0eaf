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
