import Posix

/// A chart that a page can show.
protocol Chart {
    var drawing: Drawing { get }
    /// Whether no value is above 0, so that nothing would be seen.
    var isEmpty: Bool { get }
    /// Empty if one tone says all.
    var legend: [LegendEntry] { get }
    /// What the picture shows, in a sentence or two.
    var description: String { get }
}
