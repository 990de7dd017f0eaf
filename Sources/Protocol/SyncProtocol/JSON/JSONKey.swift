/// The name of a member of a JSON object, ready to be copied into the text.
///
/// A name is written as it is, so it must need no escaping: printable ASCII without quote and backslash.
public struct JSONKey: Sendable, ExpressibleByStringLiteral {
    /// The name in quotes, and a colon.
    let text: String

    /// Takes a name.
    public init(stringLiteral name: String) {
        self.init(text: "\"\(name)\":")
    }

    /// Takes a name that already has its quotes and its colon; copying it then counts no references if it is a literal.
    init(text: String) {
        assert(
            text.utf8.dropFirst().dropLast(2).allSatisfy { JSONWriter.isPlainASCII($0) },
            "the name of a member must need no escaping")
        self.text = text
    }
}
