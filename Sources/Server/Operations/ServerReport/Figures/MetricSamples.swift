/// The numbers of a scrape in the text format of Prometheus (version 0.0.4:
/// https://prometheus.io/docs/instrumenting/exposition_formats/).
struct MetricSamples {
    struct Sample: Equatable {
        var labels: [String: String]
        var value: Double
    }

    /// Further lines are ignored. This server has some thousands.
    private static let maximumLines = 100_000
    /// The bytes of a million disks; no metric has larger values.
    private static let maximumValue = 1e18
    /// `maximumLines` such values can be added without overflow. A million requests per second take four months to
    /// reach it.
    private static let maximumCount = 1e13

    private var families: [String: [Sample]] = [:]

    /// Reads a scrape; skips malformed lines, and values that are not numbers or are out of range.
    init(_ text: String) {
        for line in text.split(separator: "\n").prefix(Self.maximumLines) where !line.hasPrefix("#") {
            guard let (name, sample) = Self.read(line) else { continue }
            families[name, default: []].append(sample)
        }
    }

    /// The samples of a name, in the order of the scrape.
    subscript(name: String) -> [Sample] { families[name] ?? [] }

    /// The only sample of a name; `nil` if there is none.
    func value(_ name: String) -> Double? { self[name].first?.value }

    /// The sum of the samples by one label's value, as whole numbers.
    func counts(_ name: String, by label: String) -> [String: Int] {
        var sums: [String: Int] = [:]
        for sample in self[name] {
            sums[sample.labels[label] ?? "", default: 0] += Self.count(sample.value)
        }
        return sums
    }

    /// A counter's value as a whole number; 0 for values that cannot be a counter's.
    static func count(_ value: Double) -> Int { (0...maximumCount).contains(value) ? Int(value.rounded()) : 0 }

    /// A name, optional labels in braces, a value, and an optional time.
    private static func read(_ line: Substring) -> (name: String, sample: Sample)? {
        let name = line.prefix { $0 != "{" && $0 != " " }
        var rest = line[name.endIndex...]
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest.removeFirst()
            while let character = rest.first, character != "}" {
                guard let label = readLabel(&rest) else { return nil }
                labels[label.name] = label.value
                if rest.first == "," { rest.removeFirst() }
            }
            guard rest.first == "}" else { return nil }
            rest.removeFirst()
        }
        guard !name.isEmpty, let value = rest.split(separator: " ").first.flatMap({ Double($0) }),
            value.magnitude <= Self.maximumValue
        else { return nil }
        return (String(name), Sample(labels: labels, value: value))
    }

    /// `name="value"`, in which a backslash escapes itself, quotes and line feeds.
    private static func readLabel(_ rest: inout Substring) -> (name: String, value: String)? {
        let name = rest.prefix { $0 != "=" && $0 != "}" }
        rest = rest[name.endIndex...]
        guard rest.hasPrefix("=\"") else { return nil }
        rest.removeFirst(2)
        var value = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return (String(name), value)
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped == "n" ? "\n" : escaped)
            default: value.append(character)
            }
        }
        return nil
    }
}
