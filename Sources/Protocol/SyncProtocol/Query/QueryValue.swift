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
