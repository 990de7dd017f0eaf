import MariaDB
import Store
import SyncProtocol

/// A rule that the stored rows obey at all times, regardless of requests in progress: how to find violations, their
/// meaning, and their repair.
///
/// The database enforces few of them: foreign keys would make writers block each other (see `0001_initial.sql`).
public struct Invariant: Sendable {
    /// A repair that loses no usable data. It does the same as the server when a member leaves, an invitation ends or
    /// an account is removed; it checks all conditions again, under locks.
    public struct Repair: Sendable {
        /// What it does, for the report.
        public let action: String
        /// Repairs all violations in its own transaction, and returns the number of changed rows or groups.
        let run: @Sendable (inout StoreSession, WireDate) throws(StoreError) -> Int

        init(
            _ action: String, run: @escaping @Sendable (inout StoreSession, WireDate) throws(StoreError) -> Int
        ) {
            self.action = action
            self.run = run
        }
    }

    /// Stable; docs/operations.md lists all.
    public let code: String
    public let severity: Finding.Severity
    /// What a violation means, in one sentence.
    public let meaning: String
    /// `nil` if a person has to decide.
    public let repair: Repair?
    /// Finds the rows that violate the rule, with an explanation for each; its only parameter is a limit.
    private let query: SQL

    init(
        _ code: String, _ severity: Finding.Severity, _ meaning: String, brokenBy query: SQL, repair: Repair? = nil
    ) {
        self.code = code
        self.severity = severity
        self.meaning = meaning
        self.query = query
        self.repair = repair
    }

    public static let all = ofGroups + ofFiles + ofSwitches + ofWork

    /// Rows that violate the rule, at most `limit` of them. It reads whole tables; call it in a snapshot.
    func violations(limit: Int, _ session: inout StoreSession) throws(StoreError) -> [Violation] {
        try session.all(query, [.int(Int64(limit))]) { row throws(StoreError) in
            Violation(row: row.optionalText(0) ?? "?", detail: row.optionalText(1) ?? "")
        }
    }
}

/// A row that violates a rule.
public struct Violation: Equatable, Sendable, Codable {
    /// Identifies the row in terms familiar to operators.
    public var row: String
    public var detail: String

    public init(row: String, detail: String) {
        self.row = row
        self.detail = detail
    }
}
