internal import Posix

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
