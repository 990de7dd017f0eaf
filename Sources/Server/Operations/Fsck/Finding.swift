/// A rule that stored rows break, and what to do about it.
public struct Finding: Encodable, Equatable, Sendable {
    public enum Severity: String, Encodable, Equatable, Sendable, Comparable {
        /// Worth knowing; nobody needs to act.
        case note
        /// Somebody should investigate.
        case warning
        /// Something does not work, or data are lost.
        case error

        public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
        private var rank: Int { self == .note ? 0 : self == .warning ? 1 : 2 }
    }

    /// Stable; docs/operations.md lists all.
    public var code: String
    public var severity: Severity
    /// One sentence.
    public var meaning: String
    /// What `--repair` would do; absent if a person has to decide.
    public var repair: String?
    /// The rows, or the first of them.
    public var rows: [Violation]
    /// Whether there are more rows than those.
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
