internal import MariaDB

/// A rule that the stored rows follow at every moment, whatever requests are under way.
///
/// The database enforces few of them: foreign keys would make writers wait for each other (see `0001_initial.sql`).
public protocol Invariant: CaseIterable, RawRepresentable<String>, Sendable {
    /// Finds the rows that break the rule: which row, and what is wrong with it; its only parameter is a limit.
    var query: StaticString { get }
}

/// A row that breaks a rule.
public struct Violation: Equatable, Sendable, Encodable {
    /// Names the row by what operators know it by.
    public var row: String
    public var detail: String

    public init(row: String, detail: String) {
        self.row = row
        self.detail = detail
    }
}

extension StoreSession {
    /// Rows that break a rule, at most `limit` of them. Reads whole tables; call in a snapshot.
    public mutating func violations(of invariant: some Invariant, limit: Int) throws(StoreError) -> [Violation] {
        try all(invariant.query, [.int(Int64(limit))]) { row throws(StoreError) in
            Violation(row: row.optionalText(0) ?? "?", detail: row.optionalText(1) ?? "")
        }
    }
}
