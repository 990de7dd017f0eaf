import Synchronization

/// The position of each number of each metric in a process's file.
struct MetricsLayout: Sendable {
    let families: [MetricFamily]
    /// The first number of each family.
    let bases: [Int]
    /// The number of values of each family's second and third label (1 if it has fewer labels), and its width.
    private let strides: [(second: Int, third: Int, width: Int)]
    /// The total number of numbers.
    let count: Int
    /// Distinguishes layouts.
    let digest: UInt64
    private let keyList = KeyList()

    init(_ families: [MetricFamily]) {
        self.families = families
        var bases: [Int] = []
        var count = 0
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for family in families {
            bases.append(count)
            count += family.labels.map(\.values.count).reduce(family.width, *)
            let labels = family.labels.map { "\($0.name)=\($0.values.joined(separator: ","))" }
            // FNV-1a.
            for byte in "\(family.name) \(family.kind) \(labels.joined(separator: " "))\n".utf8 {
                digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3
            }
        }
        self.bases = bases
        self.count = count
        self.digest = digest
        strides = families.map { family in
            let counts = family.labels.map(\.values.count)
            precondition(counts.count <= 3, "index(_:_:_:_:) supports three labels")
            return (counts.count > 1 ? counts[1] : 1, counts.count > 2 ? counts[2] : 1, family.width)
        }
    }

    /// A textual key for each number, the same in every version of the server that has the number. Computed when first
    /// needed, not when a process starts.
    var keys: [String] {
        keyList.made.withLock { made in
            if made.isEmpty { made = families.flatMap(Self.keys) }
            return made
        }
    }

    private final class KeyList: Sendable {
        let made = Mutex<[String]>([])
    }

    private static func keys(of family: MetricFamily) -> [String] {
        // For a gauge, the numbers of processes that have ended are dropped.
        let mark = family.kind == .gauge ? "g " : "c "
        return family.combinations.flatMap { labels in
            let series = "\(mark)\(family.name){\(labels)}"
            return switch family.kind {
            case .counter, .gauge: [series]
            case .histogram(let bounds): bounds.map { "\(series) \($0)" } + ["\(series) more", "\(series) sum"]
            }
        }
    }

    /// The index at which a family's combination of label values begins. Each value is given by its position; 0 for
    /// labels that the family does not have.
    func index(_ family: Int, _ first: Int, _ second: Int, _ third: Int) -> Int {
        let stride = strides[family]
        return bases[family] + ((first * stride.second + second) * stride.third + third) * stride.width
    }
}
