import FoundationEssentials
import Operations

/// What setup did, and what remains; printed step by step for people, or at the end for programs.
struct SetupReport: Encodable {
    enum Outcome: String, Encodable {
        /// Already existed, and is unchanged.
        case kept
        case done
        /// Not done, because systemd is not running here.
        case skipped
        /// Only planned, in a dry run.
        case would
        case failed
    }

    struct Step: Encodable {
        var outcome: Outcome
        var step: String
        /// A note for the operator.
        var remark: String?
    }

    private(set) var steps: [Step] = []
    var remaining: [String] = []
    private let isJSON: Bool

    private enum CodingKeys: CodingKey {
        case steps
        case remaining
    }

    /// Whether every step is done.
    var isDone: Bool { steps.allSatisfy { $0.outcome == .kept || $0.outcome == .done } }

    init(asJSON isJSON: Bool) { self.isJSON = isJSON }

    mutating func add(_ outcome: Outcome, _ step: String, remark: String? = nil) {
        steps.append(Step(outcome: outcome, step: step, remark: remark))
        guard !isJSON else { return }
        let word = outcome == .failed ? "FAILED" : outcome.rawValue
        Output.write(Self.lines(word + String(repeating: " ", count: 9 - word.utf8.count) + step, indentedBy: 11))
        if let remark { Output.write(Self.lines("           " + remark, indentedBy: 11)) }
    }

    /// Reports the outcome at the end.
    func finish() throws {
        guard !isJSON else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return Output.write(json: String(decoding: try encoder.encode(self), as: UTF8.self))
        }
        guard !remaining.isEmpty else { return }
        Output.write(["", "What remains for you:"])
        for sentence in remaining { Output.write(Self.lines("  - " + AppText().named(sentence), indentedBy: 4)) }
    }

    /// The lines of a text, all but the first indented.
    private static func lines(_ text: String, indentedBy count: Int) -> [String] {
        let lines = text.split(separator: "\n")
        return lines.prefix(1).map(String.init)
            + lines.dropFirst().map { String(repeating: " ", count: count) + $0 }
    }
}
