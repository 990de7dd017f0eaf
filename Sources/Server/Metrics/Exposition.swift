/// The text that Prometheus reads: https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
struct Exposition {
    /// The content type of a reply with this text.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""
    /// A label of all samples, such as `app="notes"`; empty if there is none.
    private let common: String

    init(common: String = "") { self.common = common }

    /// Families with so few series are shown from the start, with zeros, so that the first event appears as a change.
    private static let fewSeries = 16

    /// Adds a family stored in files. In a family with many labels, combinations that were never counted are omitted.
    mutating func add(_ family: MetricFamily, _ values: ArraySlice<UInt64>) {
        var lines = ""
        let combinations = family.combinations
        let showsZeros = combinations.count <= Self.fewSeries
        for (number, labels) in combinations.enumerated() {
            let first = values.startIndex + number * family.width
            let own = values[first..<first + family.width]
            guard showsZeros || own.contains(where: { $0 > 0 }) else { continue }
            switch family.kind {
            case .counter: lines += line(family.name, labels, Double(own.first ?? 0) / family.divisor)
            case .gauge: lines += line(family.name, labels, Double(Int64(bitPattern: own.first ?? 0)))
            case .histogram(let bounds):
                var count: UInt64 = 0
                for (bound, value) in zip(bounds.map { "\($0)" } + ["+Inf"], own) {
                    count += value
                    let le = (labels.isEmpty ? "" : labels + ",") + "le=\"\(bound)\""
                    lines += line(family.name + "_bucket", le, Double(count))
                }
                lines += line(family.name + "_sum", labels, Double(own.last ?? 0) / family.divisor)
                lines += line(family.name + "_count", labels, Double(count))
            }
        }
        if !lines.isEmpty { text += Self.head(family.name, family.kind.word, family.help) + lines }
    }

    /// Adds a gauge whose value is known at the time of the scrape.
    mutating func addGauge(_ name: String, _ help: String, _ samples: [(labels: String, value: Double)]) {
        guard !samples.isEmpty else { return }
        text += Self.head(name, "gauge", help)
        for sample in samples { text += line(name, sample.labels, sample.value) }
    }

    private static func head(_ name: String, _ type: String, _ help: String) -> String {
        "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private func line(_ name: String, _ own: String, _ value: Double) -> String {
        let labels = common.isEmpty || own.isEmpty ? common + own : "\(common),\(own)"
        let number = value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
        return labels.isEmpty ? "\(name) \(number)\n" : "\(name){\(labels)} \(number)\n"
    }
}
