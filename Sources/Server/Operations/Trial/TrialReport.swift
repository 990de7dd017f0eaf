import FoundationEssentials
public import SyncProtocol

/// The result of a provider's trial, in a form that can be published.
public struct TrialReport: Report, Equatable {
    public enum Outcome: String, Encodable, Sendable {
        /// The result matches the server's expectation.
        case passed
        case failed
        /// The provider never replied.
        case unreachable
        /// The operator ended it.
        case interrupted
    }

    public struct Step: Encodable, Equatable, Sendable {
        public enum Result: String, Encodable, Sendable { case passed, failed, notOffered, notTried }

        public var step: String
        public var expected: String
        public var result: Result
        public var came: String
        public var milliseconds: Int64
        /// The calls to the provider with their results, if they matter.
        public var calls: [TrialCall]
    }

    public var provider: String
    /// The server's version.
    public var version: String
    public var startedAt: WireDate
    /// Whether all calls went to the sandbox.
    public var isSandbox: Bool
    public var outcome: Outcome
    public var steps: [Step]

    public var isGood: Bool { outcome == .passed }

    public var lines: [String] {
        var lines = [
            "Trial of \(provider) with SyncServer \(version)\(isSandbox ? ", at the sandbox" : ""): \(summary)", "",
        ]
        for step in steps {
            lines.append("\(Self.label(step.result))  \(step.step): \(step.expected)")
            lines.append("            \(step.came)")
            lines += step.calls.map { "              \($0.method) \($0.host) \($0.path): \($0.outcome)" }
        }
        return lines
    }

    private var summary: String {
        let counts = [
            (Step.Result.passed, "as expected"), (.failed, "not as expected"), (.notOffered, "not offered"),
            (.notTried, "not tried"),
        ].map { result, words in (steps.count { $0.result == result }, words) }
        let text = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return switch outcome {
        case .passed, .failed: text
        case .unreachable: "it cannot be reached; " + text
        case .interrupted: "interrupted; " + text
        }
    }

    private static func label(_ result: Step.Result) -> String {
        switch result {
        case .passed: "ok        "
        case .failed: "FAILED    "
        case .notOffered: "no such   "
        case .notTried: "not tried "
        }
    }
}
