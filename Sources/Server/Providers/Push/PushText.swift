/// The text of a notification.
public enum PushText {
    /// The longest text that is stored, in bytes of UTF-8; no service accepts a longer one.
    public static let maximumBytes = 4_000
    private static let ellipsis = "…"

    /// `<sender>, <group>: <message>`; a missing name is omitted with its punctuation.
    ///
    /// - Returns: `nil` if all parts are empty.
    public static func composed(sender: String, group: String?, message: String) -> String? {
        guard !isBlank(message) else { return nil }
        let names = [sender, group ?? ""].filter { !isBlank($0) }.joined(separator: ", ")
        let text = names.isEmpty ? message : names + ": " + message
        return shortened(text) { $0.utf8.count <= maximumBytes }
    }

    /// `text`, or its longest prefix that fits, followed by an ellipsis.
    ///
    /// - Parameter fits: whether a text is short enough; if it accepts a text, it must accept every prefix of that
    ///   text.
    static func shortened(_ text: String, fits: (String) -> Bool) -> String {
        if fits(text) { return text }
        let characters = Array(text)
        // The largest number of characters that fits is between these bounds.
        var (fitting, tooMany) = (0, characters.count)
        while tooMany - fitting > 1 {
            let middle = (fitting + tooMany) / 2
            if fits(String(characters[..<middle]) + ellipsis) { fitting = middle } else { tooMany = middle }
        }
        return String(characters[..<fitting]) + ellipsis
    }

    private static func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }
}
