/// A rule that stored rows break, and the remedy.
public struct Finding: Encodable, Equatable, Sendable {
    public enum Severity: String, Encodable, Equatable, Sendable, Comparable {
        /// Information that requires no action.
        case note
        /// Somebody should investigate.
        case warning
        /// Something does not work, or data is lost.
        case error

        public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
        private var rank: Int { self == .note ? 0 : self == .warning ? 1 : 2 }
    }

    /// Stable; docs/operations.md lists all.
    public var code: String
    public var severity: Severity
    /// The meaning, in one sentence.
    public var meaning: String
    /// What `--repair` would do; absent if a person has to decide.
    public var repair: String?
    /// The rows, or the first of them.
    public var rows: [Violation]
    /// Whether there are more rows than listed.
    public var more: Bool

    public init(
        code: String, severity: Severity, meaning: String, repair: String? = nil, rows: [Violation], more: Bool = false
    ) {
        self.code = code
        self.severity = severity
        self.meaning = meaning
        self.repair = repair
        self.rows = rows
        self.more = more
    }
}

/// How `fsck` reports a broken rule.
struct Judgement {
    var severity: Finding.Severity
    var meaning: String
    var repair: String?

    init(_ severity: Finding.Severity, _ meaning: String, repair: String? = nil) {
        self.severity = severity
        self.meaning = meaning
        self.repair = repair
    }
}
