/// What is wrong with the parameters of a request, from the sender's point of view.
///
/// `description` is safe to show: it names the parameter and what was expected, and never repeats a value.
public enum RequestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A required parameter is missing: send it.
    case missing(ParameterName)
    /// A parameter was sent more than once, and it is ambiguous which one counts: send it once.
    case repeated(ParameterName)
    /// The value does not have the form of its type.
    case malformed(ParameterName, expected: ExpectedForm)
    /// The number has the right form, but is outside the allowed range.
    case outOfRange(ParameterName, allowed: ClosedRange<Int64>)
    /// The text has more characters (Unicode scalars) than can be stored.
    case tooLong(ParameterName, maximumCharacters: Int)
    /// The app metadata is larger than can be stored and returned: split it, or put it into a file (413).
    case tooLarge(ParameterName, maximumBytes: Int)
    /// The query has a `%` that is not followed by two hexadecimal digits.
    case brokenEscape
    /// The query, once decoded, is not UTF-8.
    case invalidUTF8
    /// The query as a whole is too long (414).
    case queryTooLong(maximumBytes: Int)

    /// One sentence for the client's developer.
    public var description: String {
        switch self {
        case .missing(let name): "\(name.rawValue) is missing"
        case .repeated(let name): "\(name.rawValue) is given more than once"
        case .malformed(let name, let expected): "\(name.rawValue) must be \(expected.description)"
        case .outOfRange(let name, let allowed):
            "\(name.rawValue) must be \(allowed.lowerBound) to \(allowed.upperBound)"
        case .tooLong(let name, let maximum): "\(name.rawValue) must have at most \(maximum) characters"
        case .tooLarge(let name, let maximum): "\(name.rawValue) must have at most \(maximum) bytes"
        case .brokenEscape: "the query has a broken percent escape"
        case .invalidUTF8: "the query is not UTF-8"
        case .queryTooLong(let maximum): "the query must have at most \(maximum) bytes"
        }
    }
}
