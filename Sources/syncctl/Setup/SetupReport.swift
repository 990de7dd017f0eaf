import FoundationEssentials

/// What setup did, and what remains; said step by step to people, or at the end to programs.
struct SetupReport: Encodable {
    enum Outcome: String, Encodable {
        /// Was there already, and stays as it is.
        case kept
        case done
        /// Not done, as this is no running system.
        case skipped
        /// Only planned, in a dry run.
        case would
        case failed
    }

    struct Step: Encodable {
        var outcome: Outcome
        var step: String
        /// What a person should know about it.
        var remark: String?
    }

    private(set) var steps: [Step] = []
    var remaining: [String] = []
    private let isJSON: Bool

    private enum CodingKeys: CodingKey {
        case steps
        case remaining
    }

    init(asJSON isJSON: Bool) { self.isJSON = isJSON }

    mutating func add(_ outcome: Outcome, _ step: String, remark: String? = nil) {
        steps.append(Step(outcome: outcome, step: step, remark: remark))
        guard !isJSON else { return }
        let word = outcome == .failed ? "FAILED" : outcome.rawValue
        print(word + String(repeating: " ", count: 9 - word.utf8.count) + step)
        if let remark { print("           " + Self.indented(remark, by: 11)) }
    }

    /// Says what is to be said at the end.
    func finish() throws {
        guard !isJSON else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return print(String(decoding: try encoder.encode(self), as: UTF8.self))
        }
        guard !remaining.isEmpty else { return }
        print("\nWhat remains for you:")
        for sentence in remaining { print("  - " + Self.indented(sentence, by: 4)) }
    }

    private static func indented(_ text: String, by count: Int) -> String {
        text.split(separator: "\n").joined(separator: "\n" + String(repeating: " ", count: count))
    }
}
