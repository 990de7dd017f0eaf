/// The name of a member of a JSON object, ready to be copied into the text.
///
/// A name is written unchanged, so it must not need escaping: printable ASCII without quote and backslash.
public struct JSONKey: Sendable, ExpressibleByStringLiteral {
    /// The name in quotes, and a colon.
    let text: String

    /// Creates a key from a name.
    public init(stringLiteral name: String) {
        self.init(text: "\"\(name)\":")
    }

    /// Creates a key from a name that already includes its quotes and colon; if it is a literal, copying it involves no
    /// reference counting.
    init(text: String) {
        assert(
            text.utf8.dropFirst().dropLast(2).allSatisfy { JSONWriter.isPlainASCII($0) },
            "the name of a member must need no escaping")
        self.text = text
    }
}
