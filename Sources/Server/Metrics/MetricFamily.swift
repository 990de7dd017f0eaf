/// A metric with all its labels' values, which a scrape shows under one HELP and TYPE line.
///
/// Values come only from the server's own enums, so the number of series is known at build time. They are never
/// identifiers, paths or names chosen by people.
struct MetricFamily: Sendable {
    enum Kind: Equatable, Sendable {
        /// Never decreases; the counts of processes that have ended stay in the sum.
        case counter
        /// Rises and falls; counts for living processes only.
        case gauge
        /// Durations, in seconds, with these upper bounds.
        case histogram(bounds: [Double])

        /// The type name in the exposition format.
        var word: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    struct Label: Sendable {
        var name: String
        var values: [String]

        init(_ name: String, _ values: [String]) {
            self.name = name
            self.values = values
        }

        /// All values of an enum.
        init<Value: CaseIterable & RawRepresentable<String>>(_ name: String, _: Value.Type) {
            self.init(name, Value.allCases.map(\.rawValue))
        }
    }

    var name: String
    var help: String
    var kind: Kind
    var labels: [Label]
    /// The number of stored units in one unit of the metric; durations are stored in microseconds.
    var divisor: Double

    init(_ name: String, _ kind: Kind, _ help: String, _ labels: [Label] = [], divisor: Double = 1) {
        self.name = name
        self.help = help
        self.kind = kind
        self.labels = labels
        self.divisor = divisor
    }

    /// The number of stored numbers for one combination of label values.
    var width: Int {
        switch kind {
        case .counter, .gauge: 1
        // A bucket for each bound, one for everything above, and the sum.
        case .histogram(let bounds): bounds.count + 2
        }
    }

    /// Every combination of label values, as the text between the braces; the last label's value changes fastest.
    var combinations: [String] {
        labels.reduce([""]) { texts, label in
            texts.flatMap { text in
                label.values.map { (text.isEmpty ? "" : text + ",") + "\(label.name)=\"\($0)\"" }
            }
        }
    }
}
