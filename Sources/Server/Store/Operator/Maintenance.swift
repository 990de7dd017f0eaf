public import MariaDB
import Posix

/// The announcement that the server is closed for maintenance, on all hosts of a database.
///
/// Stored as the comment of the database itself: every host sees it, it survives restarts, and it needs no table and
/// only the owner's rights, so that it works with any version of the schema (ADR 67).
public struct MaintenanceNotice: Equatable, Sendable, Encodable {
    /// The maximum length, in bytes of UTF-8: with it, an error reply remains below its limit.
    public static let maximumBytes = 300

    /// The message for people.
    public var text: String
    /// When the maintenance began, by the database's clock: RFC 3339, in UTC.
    public var since: String

    public init(text: String, since: String) {
        self.text = text
        self.since = since
    }

    private static let beginning = "SyncServer is closed for maintenance since "
    private static let separator: Character = " "

    /// - Parameter comment: of the database; `nil` is returned for anything that ``comment`` does not produce.
    init?(comment: String) {
        guard comment.hasPrefix(Self.beginning) else { return nil }
        let rest = comment.dropFirst(Self.beginning.count)
        guard let end = rest.firstIndex(of: Self.separator) else { return nil }
        self.init(text: String(rest[rest.index(after: end)...]), since: String(rest[..<end].dropLast()))
    }

    /// The database's comment, such as "SyncServer is closed for maintenance since 2026-11-24T23:00:00Z: Back at noon."
    var comment: String { "\(Self.beginning)\(since):\(Self.separator)\(text)" }

    /// Why a text is invalid, as the end of a sentence; `nil` if it is valid.
    public static func objection(to text: String) -> String? {
        if text.allSatisfy(\.isWhitespace) { return "must not be empty" }
        if text.utf8.count > maximumBytes { return "must have at most \(maximumBytes) bytes" }
        guard PrintableText.escaping(text) == text, !text.contains("\\") else {
            return "must be one line of printable characters without backslashes"
        }
        return nil
    }
}

extension StoreSession {
    /// Whether the database rejects changes from accounts without special rights (MariaDB, `read_only`, and its
    /// engine's).
    public mutating func isReadOnly() throws(StoreError) -> Bool {
        // A number in MariaDB 10 and 11, a word in 12.
        try first("SELECT @@global.read_only NOT IN ('0', 'OFF') OR @@innodb_read_only", []) {
            row throws(StoreError) in try row.number(0) != 0
        } ?? false
    }

    /// The current announcement; `nil` if the server is open.
    public mutating func maintenanceNotice() throws(StoreError) -> MaintenanceNotice? {
        try first(
            "SELECT schema_comment FROM information_schema.schemata WHERE schema_name = DATABASE()", []
        ) { row throws(StoreError) in MaintenanceNotice(comment: try row.string(0)) } ?? nil
    }
}

/// Closes the server for maintenance on all hosts, and opens it again, for the operator.
///
/// Ignores the schema version, which may be any during an update. Both operations are repeatable.
public struct MaintenanceSwitch: ~Copyable {
    /// The database has a foreign comment, which is not replaced.
    public struct ForeignComment: Error {
        public let comment: String
    }

    private var connection: Connection

    /// - Parameter settings: the account of the database's owner.
    public init(_ settings: ConnectionSettings) throws(StoreError) {
        do { connection = try Connection(settings) } catch { throw StoreError(error) }
    }

    /// The current announcement; `nil` if the server is open.
    public mutating func notice() throws(StoreError) -> MaintenanceNotice? {
        MaintenanceNotice(comment: try state().comment)
    }

    /// Announces a text; if an announcement is in force, replaces only its text.
    /// - Parameter text: a text without a ``MaintenanceNotice/objection(to:)``.
    /// - Throws: ``StoreError``, ``ForeignComment``.
    public mutating func close(_ text: String) throws -> MaintenanceNotice {
        let state = try state()
        let former = MaintenanceNotice(comment: state.comment)
        guard former != nil || state.comment.isEmpty else { throw ForeignComment(comment: state.comment) }
        let notice = MaintenanceNotice(text: text, since: former?.since ?? state.now)
        try set(comment: notice.comment)
        return notice
    }

    /// - Returns: the announcement that was in force; `nil` if there was none.
    public mutating func open() throws(StoreError) -> MaintenanceNotice? {
        guard let notice = try notice() else { return nil }
        try set(comment: "")
        return notice
    }

    private mutating func state() throws(StoreError) -> (comment: String, now: String) {
        var state = (comment: "", now: "")
        do {
            try connection.query(
                """
                SELECT schema_comment, DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%H:%i:%sZ')
                  FROM information_schema.schemata
                 WHERE schema_name = DATABASE()
                """
            ) { row throws(MariaDBError) in state = (comment: try row.text(0), now: try row.text(1)) }
        } catch {
            throw StoreError(error)
        }
        return state
    }

    /// The statement accepts no parameter. The text has no backslash, so only a quotation mark could end the literal.
    private mutating func set(comment: String) throws(StoreError) {
        precondition(!comment.contains("\\"), "a text that was not checked")
        do {
            try connection.executeScript("ALTER DATABASE COMMENT = '\(comment.replacing("'", with: "''"))'")
        } catch {
            throw StoreError(error)
        }
    }
}
