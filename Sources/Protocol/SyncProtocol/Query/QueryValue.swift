/// A type that can be the value of a query parameter.
public protocol QueryValue: Sendable {
    /// What the text must look like, for error messages.
    static var expectedForm: ExpectedForm { get }

    /// Parses the decoded text of a value; nil if it is not of the expected form.
    init?(queryText: String)

    /// The text as a client sends it, before percent-encoding.
    var queryText: String { get }
}

extension QueryValue where Self: RawRepresentable, RawValue == String {
    /// Parses a raw word; case-sensitive.
    public init?(queryText: String) {
        self.init(rawValue: queryText)
    }

    /// The raw word.
    public var queryText: String { rawValue }
}

extension Bool: QueryValue {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.boolean

    /// `1` and `0` are what clients send; `true` and `false` are accepted as well.
    public init?(queryText: String) {
        switch queryText {
        case "1", "true": self = true
        case "0", "false": self = false
        default: return nil
        }
    }

    /// `1` or `0`.
    public var queryText: String { self ? "1" : "0" }
}

extension Int32: QueryValue {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.integer32

    /// Parses decimal digits that fit into 32 bits.
    public init?(queryText: String) {
        guard let number = StrictDecimal.parse(queryText.utf8, as: Int32.self) else { return nil }
        self = number
    }

    /// The number in decimal.
    public var queryText: String { description }
}

extension String: QueryValue {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.text

    /// Uses the text unchanged; empty text is a value, and any character is allowed, including line breaks and NUL.
    public init?(queryText: String) {
        self = queryText
    }

    /// The text, unchanged.
    public var queryText: String { self }
}

/// What a parameter's value must look like, in words for the person who reads an error.
public enum ExpectedForm: Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// A hyphenated UUID.
    case uuid
    /// Hyphenated UUIDs separated by commas.
    case uuids
    /// 1 to 36 characters of text.
    case identifier
    /// Decimal digits, at most 2,147,483,647.
    case integer32
    /// Decimal digits, at most 9,223,372,036,854,775,807.
    case integer64
    /// `1`, `0`, `true` or `false`.
    case boolean
    /// `read`, `write` or `admin`.
    case permission
    /// `apns` or `fcm`.
    case pushNotificationKind
    /// `production` or `sandbox`.
    case pushNotificationEnvironment
    /// 1 to 100 characters of text.
    case mimeType
    /// 1 to 128 hexadecimal digits.
    case hexadecimal
    /// 20 bytes in base64.
    case storageHash
    /// Any text.
    case text
    /// A JSON object with `version` and `contents`.
    case appMetaData

    /// Completes the sentence "must be …".
    public var description: String {
        switch self {
        case .uuid: "a UUID of 36 characters"
        case .uuids: "UUIDs of 36 characters, separated by commas"
        case .identifier: "1 to 36 characters of text"
        case .integer32: "decimal digits, at most 2147483647"
        case .integer64: "decimal digits, at most 9223372036854775807"
        case .boolean: "1, 0, true or false"
        case .permission: "read, write or admin"
        case .pushNotificationKind: "apns or fcm"
        case .pushNotificationEnvironment: "production or sandbox"
        case .mimeType: "a MIME type of 1 to 100 characters"
        case .hexadecimal: "1 to 128 hexadecimal digits"
        case .storageHash: "20 bytes in base64"
        case .text: "text"
        case .appMetaData: "a JSON object with an integer version and a string contents"
        }
    }
}

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
