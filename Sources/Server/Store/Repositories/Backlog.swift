internal import MariaDB
public import SyncProtocol

/// How much work is pending, for monitoring.
public struct Backlog: Equatable, Sendable {
    /// Rows of the outbox by kind.
    public var outbox: [String: Int] = [:]
    /// The number of outbox rows that are due, and the due time of the first of them.
    public var due = 0
    public var firstDue: WireDate?
    /// When the oldest outbox row that was attempted and still exists was inserted.
    public var firstRetried: WireDate?
    /// The number of staged changes, and when the oldest was staged.
    public var staged = 0
    public var firstStaged: WireDate?
}

extension StoreSession {
    /// Counts the work pending at `now`. Reads the keys of two tables that contain only unfinished work.
    public mutating func backlog(at now: WireDate) throws(StoreError) -> Backlog {
        var backlog = Backlog()
        let kinds = try all(
            """
            SELECT kind, COUNT(*) AS jobs, COUNT(IF(available_at <= ?, 1, NULL)) AS due,
                   MIN(IF(available_at <= ?, available_at, NULL)) AS first_due,
                   MIN(IF(attempts > 0, created_at, NULL)) AS first_retried
              FROM outbox
             GROUP BY kind
            """,
            [.date(now), .date(now)]
        ) { row throws(StoreError) in
            (
                kind: try row.string("kind"), count: Int(try row.number("jobs")), due: Int(try row.number("due")),
                firstDue: try row.optionalDate("first_due"), firstRetried: try row.optionalDate("first_retried")
            )
        }
        for kind in kinds {
            backlog.outbox[kind.kind] = kind.count
            backlog.due += kind.due
            backlog.firstDue = [backlog.firstDue, kind.firstDue].compactMap(\.self).min()
            backlog.firstRetried = [backlog.firstRetried, kind.firstRetried].compactMap(\.self).min()
        }
        let staged = try first("SELECT COUNT(*), MIN(staged_at) FROM staged_changes", []) { row throws(StoreError) in
            (count: Int(try row.number(0)), first: try row.optionalDate(1))
        }
        backlog.staged = staged?.count ?? 0
        backlog.firstStaged = staged?.first
        return backlog
    }
}
