public import MariaDB

/// A rule that the stored rows obey at all times, whatever requests are in progress.
///
/// The database enforces few of them: foreign keys would make writers block each other (see `0001_initial.sql`).
public protocol Invariant: CaseIterable, RawRepresentable<String>, Sendable {
    /// Finds the rows that violate the rule, and what is wrong with each; its only parameter is a limit.
    var query: SQL { get }
}

/// A row that violates a rule.
public struct Violation: Equatable, Sendable, Encodable {
    /// Identifies the row in terms familiar to operators.
    public var row: String
    public var detail: String

    public init(row: String, detail: String) {
        self.row = row
        self.detail = detail
    }
}

extension StoreSession {
    /// Rows that violate a rule, at most `limit` of them. Reads whole tables; call in a snapshot.
    public mutating func violations(of invariant: some Invariant, limit: Int) throws(StoreError) -> [Violation] {
        try all(invariant.query, [.int(Int64(limit))]) { row throws(StoreError) in
            Violation(row: row.optionalText(0) ?? "?", detail: row.optionalText(1) ?? "")
        }
    }
}
