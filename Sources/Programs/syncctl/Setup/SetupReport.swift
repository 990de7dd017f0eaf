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
        Output.write(Self.lines(word + String(repeating: " ", count: 9 - word.utf8.count) + step, indentedBy: 11))
        if let remark { Output.write(Self.lines("           " + remark, indentedBy: 11)) }
    }

    /// Says what is to be said at the end.
    func finish() throws {
        guard !isJSON else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return Output.write(json: String(decoding: try encoder.encode(self), as: UTF8.self))
        }
        guard !remaining.isEmpty else { return }
        Output.write(["", "What remains for you:"])
        for sentence in remaining { Output.write(Self.lines("  - " + sentence, indentedBy: 4)) }
    }

    /// The lines of a text, of which all but the first stand further to the right.
    private static func lines(_ text: String, indentedBy count: Int) -> [String] {
        let lines = text.split(separator: "\n")
        return lines.prefix(1).map(String.init)
            + lines.dropFirst().map { String(repeating: " ", count: count) + $0 }
    }
}
