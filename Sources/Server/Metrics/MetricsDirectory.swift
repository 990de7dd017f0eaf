import Posix
import Synchronization

/// The directory in which the processes of a host keep their numbers, one file each.
///
/// The scraped process adds up the files of the running processes. The counters of a process that has ended are added
/// to a file of totals before its own file is removed, so a sum never decreases. Both steps happen under a lock, and
/// the totals are replaced as a whole together with the names of the files they contain, so a crash in between counts
/// nothing twice.
///
/// A file begins with a head of ``headCount`` numbers. A file from another version of the server is interpreted with
/// the list of keys of its layout, which is stored next to it.
struct MetricsDirectory: Sendable {
    /// Digest of the layout, role, start time of the process in seconds since 1970.
    static let headCount = 3
    /// The number of files that may accumulate without a scrape.
    static let manyFiles = 64
    private static let patience: Duration = .seconds(2)
    /// Prefix of the names of files of numbers.
    private static let prefix = "process-"

    let path: String
    let layout: MetricsLayout

    /// The sum of all processes' numbers.
    struct Sum {
        /// By the layout's index.
        var values: [UInt64]
        /// Running processes: role, start in seconds since 1970.
        var processes: [(role: Int, start: UInt64)]
        /// When the directory was created, and counting began, in seconds since 1970.
        var start: Int64
    }

    /// Creates this process's file.
    /// - Throws: ``PosixError``.
    func join(role: Int, processID: String, start: Int64) throws(PosixError) -> SharedNumbers {
        try Directory.make(path)
        let lock = try FileLock(path + "/lock", waiting: Self.patience)
        let layoutFile = file(layoutOf: layout.digest)
        if try !Directory.names(in: path).contains(String(layoutFile.dropFirst(path.count + 1))) {
            try replace(layoutFile, with: layout.keys.joined(separator: "\n"))
        }
        let numbers = try SharedNumbers(
            making: "\(path)/\(Self.prefix)\(processID)", count: Self.headCount + layout.count)
        numbers.set(layout.digest, at: 0)
        numbers.set(UInt64(role), at: 1)
        numbers.set(UInt64(clamping: start), at: 2)
        // Otherwise a host whose processes restart and that is never scraped would fill up.
        if try Directory.names(in: path).count > Self.manyFiles { _ = try collect(since: lock.made()) }
        withExtendedLifetime(lock) {}
        return numbers
    }

    /// Adds up the numbers of all processes.
    /// - Throws: ``PosixError``.
    func sum() throws(PosixError) -> Sum {
        let lock = try FileLock(path + "/lock", waiting: Self.patience)
        let sum = try collect(since: lock.made())
        withExtendedLifetime(lock) {}
        return sum
    }

    // MARK: Under the lock

    private func collect(since start: Int64) throws(PosixError) -> Sum {
        var totals = try Totals(readingFrom: path + "/totals")
        let names = try Directory.names(in: path).filter { $0.hasPrefix(Self.prefix) }
        // Removed files need not be remembered.
        totals.contents.formIntersection(names)
        var living = Sum(values: Array(repeating: 0, count: layout.count), processes: [], start: start)
        var keysByDigest: [UInt64: [String]] = [:]
        var dead: [String] = []
        for name in names {
            guard let numbers = try? SharedNumbers(reading: path + "/" + name), numbers.count > Self.headCount else {
                dead.append(name)
                totals.contents.insert(name)
                continue
            }
            let digest = numbers.value(at: 0)
            let isOurs = digest == layout.digest
            if !isOurs, keysByDigest[digest] == nil { keysByDigest[digest] = keys(ofLayout: digest) }
            let keys = keysByDigest[digest] ?? []
            guard numbers.isMakerAlive else {
                if totals.contents.insert(name).inserted { totals.add(numbers, isOurs ? layout.keys : keys) }
                dead.append(name)
                continue
            }
            living.processes.append((role: Int(numbers.value(at: 1)), start: numbers.value(at: 2)))
            if isOurs {
                for index in 0..<layout.count {
                    living.values[index] &+= numbers.value(at: Self.headCount + index)
                }
            } else {
                add(numbers, keys, to: &living)
            }
        }
        if !dead.isEmpty {
            try replace(path + "/totals", with: totals.text)
            for name in dead { try Directory.removeFile(path + "/" + name) }
        }
        if !totals.counters.isEmpty {
            for (index, key) in layout.keys.enumerated() { living.values[index] &+= totals.counters[key] ?? 0 }
        }
        return living
    }

    /// Adds the numbers of a process of another version, as far as this version knows them.
    private func add(_ numbers: SharedNumbers, _ keys: [String], to sum: inout Sum) {
        var positions: [String: Int] = [:]
        for (index, key) in layout.keys.enumerated() { positions[key] = index }
        for (index, key) in keys.enumerated() where Self.headCount + index < numbers.count {
            if let position = positions[key] { sum.values[position] &+= numbers.value(at: Self.headCount + index) }
        }
    }

    private func file(layoutOf digest: UInt64) -> String { path + "/layout-" + String(digest, radix: 16) }

    private func keys(ofLayout digest: UInt64) -> [String] {
        guard let text = try? TextFile.read(file(layoutOf: digest)) else { return [] }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func replace(_ file: String, with text: String) throws(PosixError) {
        let fresh = file + ".new"
        try Directory.removeFile(fresh)
        do {
            let new = try RegularFile(fresh, for: .writing)
            let bytes = Array(text.utf8)
            try new.write(bytes.span, at: 0)
        }
        try Directory.rename(fresh, to: file)
    }
}

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

/// The counts of ended processes, as text: a line `in NAME` for each included file that still exists, and a line `VALUE
/// KEY` for each counter.
struct Totals {
    /// Files whose numbers the counters include.
    var contents: Set<String> = []
    /// By the keys of ``MetricsLayout``; unknown keys are kept.
    var counters: [String: UInt64] = [:]

    /// Empty if the file does not exist.
    /// - Throws: ``PosixError`` if it cannot be read.
    init(readingFrom path: String) throws(PosixError) {
        let text: [UInt8]
        do { text = try TextFile.read(path) } catch {
            guard error.isAbsence else { throw error }
            return
        }
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2 else { continue }
            let first = String(decoding: parts[0], as: UTF8.self)
            let second = String(decoding: parts[1], as: UTF8.self)
            if first == "in" { contents.insert(second) } else if let value = UInt64(first) { counters[second] = value }
        }
    }

    /// Adds the counters of a process; `keys` name its numbers.
    mutating func add(_ numbers: SharedNumbers, _ keys: [String]) {
        for (index, key) in keys.enumerated() where key.hasPrefix("c ") {
            guard MetricsDirectory.headCount + index < numbers.count else { return }
            let value = numbers.value(at: MetricsDirectory.headCount + index)
            if value > 0 { counters[key, default: 0] &+= value }
        }
    }

    var text: String {
        (contents.sorted().map { "in \($0)" } + counters.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" })
            .map { $0 + "\n" }.joined()
    }
}
