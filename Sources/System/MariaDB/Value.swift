/// A value bound to one `?` of a statement.
///
/// Dates are bound as text, `yyyy-MM-dd HH:mm:ss` in UTC, and DECIMAL numbers as text too.
public enum Value: Sendable, Equatable {
    /// SQL's NULL.
    case null
    /// A signed 64-bit integer, for integer columns of any width.
    case int(Int64)
    /// Text in UTF-8, for text, DATETIME, TIMESTAMP, DATE and DECIMAL columns.
    case text(String)
    /// Bytes without a character set, for BINARY and BLOB columns.
    case bytes([UInt8])
    /// 1 or 0.
    case bool(Bool)

    /// The text, or NULL if there is none.
    public static func text(orNull text: String?) -> Value { text.map { .text($0) } ?? .null }

    /// The integer, or NULL if there is none.
    public static func int(orNull int: Int64?) -> Value { int.map { .int($0) } ?? .null }

    /// The bytes, or NULL if there are none.
    public static func bytes(orNull bytes: [UInt8]?) -> Value { bytes.map { .bytes($0) } ?? .null }
}
