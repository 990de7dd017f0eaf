internal import Posix

/// What processes that have ended counted, as text: a line for each file that is in it and still there, `in NAME`, and
/// one for each counter, `VALUE KEY`.
struct Totals {
    /// Files whose numbers are in the counters.
    var contents: Set<String> = []
    /// By the keys of ``MetricsLayout``; keys that this version does not know are kept.
    var counters: [String: UInt64] = [:]

    /// Empty if there is no such file.
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

    /// Adds the counters of a process, whose numbers mean `keys`.
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
