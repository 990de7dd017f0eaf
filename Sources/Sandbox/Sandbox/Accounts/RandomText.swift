/// Identifiers and tokens in the providers' formats.
enum RandomText {
    private static let base64url = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    private static let digits = Array("0123456789")

    /// Letters, digits, `-` and `_`.
    static func token(_ length: Int) -> String { text(length, of: base64url) }

    /// Decimal digits, the first one not 0.
    static func number(_ length: Int) -> String {
        var text = text(length, of: digits)
        if text.hasPrefix("0") { text = "1" + text.dropFirst() }
        return text
    }

    private static func text(_ length: Int, of alphabet: [Character]) -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] })
    }
}
