/// Where each number of each metric stands in a process's file.
struct MetricsLayout: Sendable {
    let families: [MetricFamily]
    /// The first number of each family.
    let bases: [Int]
    /// How many values the second and the third label of each family have, 1 if it has fewer labels, and its width.
    private let strides: [(second: Int, third: Int, width: Int)]
    /// What each number is, as text: the same in every version of the server that has it.
    let keys: [String]
    /// Tells layouts apart.
    let digest: UInt64

    init(_ families: [MetricFamily]) {
        self.families = families
        var bases: [Int] = []
        var keys: [String] = []
        for family in families {
            bases.append(keys.count)
            // Of a family that rises and falls, nothing is kept of the dead.
            let mark = family.kind == .gauge ? "g " : "c "
            for labels in family.combinations {
                switch family.kind {
                case .counter, .gauge: keys.append("\(mark)\(family.name){\(labels)}")
                case .histogram(let bounds):
                    for bound in bounds { keys.append("\(mark)\(family.name){\(labels)} \(bound)") }
                    keys.append("\(mark)\(family.name){\(labels)} more")
                    keys.append("\(mark)\(family.name){\(labels)} sum")
                }
            }
        }
        self.bases = bases
        strides = families.map { family in
            let counts = family.labels.map(\.values.count)
            precondition(counts.count <= 3, "index(_:_:_:_:) knows three labels")
            return (counts.count > 1 ? counts[1] : 1, counts.count > 2 ? counts[2] : 1, family.width)
        }
        self.keys = keys
        // FNV-1a.
        digest = keys.joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
    }

    /// The number that a family's combination of label values begins at, each given by its position among the values; 0
    /// for labels that the family does not have.
    func index(_ family: Int, _ first: Int, _ second: Int, _ third: Int) -> Int {
        let stride = strides[family]
        return bases[family] + ((first * stride.second + second) * stride.third + third) * stride.width
    }
}
