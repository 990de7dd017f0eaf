/// A reproducible pseudorandom generator, so that a failing property test can be repeated (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Text of up to `maximumCharacters`, with many characters that encoders mishandle; contains `&` only on request.
    mutating func text(maximumCharacters: Int, ampersands: Bool = false) -> String {
        var alphabet: [Unicode.Scalar] = [
            "a", "Z", "0", " ", "+", "%", "'", "\"", "\\", "/", "\n", "\r", "\t", "\0", "\u{7F}", "\u{1}", "=", ";",
            ",", ":",
            "{", "}", "[", "]", "?", "#", "ä", "é", "\u{301}", "漢", "😀", "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}",
            "\u{2028}",
        ]
        if ampersands { alphabet += ["&", "&", "&"] }
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...maximumCharacters, using: &self) {
            text.append(alphabet.randomElement(using: &self)!)
        }
        return String(text)
    }

    mutating func uuid() -> String {
        let digits = Array("0123456789abcdefABCDEF")
        return [8, 4, 4, 4, 12]
            .map { count in String((0..<count).map { _ in digits.randomElement(using: &self)! }) }
            .joined(separator: "-")
    }
}
