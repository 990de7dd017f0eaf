/// Damages texts in ways that may break a parser; the same seed yields the same damage.
public struct Damage {
    private static let pieces = [
        "-1", "0", "1e400", "-1e19", "1e21", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
        "null",
        "true", "[]", "{}", "\"\"", "\"\\u0000\"", "\"\\ud800\"", "[[[[[[[[", "{\"a\":{\"a\":{\"a\":", ",", ":", "\"",
        "\\",
        "\r\n", "é", "\u{202E}",
    ]

    private var state: UInt64

    /// Begins a sequence of damages.
    public init(seed: UInt64) { state = seed }

    /// Returns the text with one to four changes: a changed byte, a removed or repeated section, or an inserted number
    /// or structure.
    public mutating func applied(to text: [UInt8]) -> [UInt8] {
        var bytes = text
        for _ in 0...(next(4)) {
            guard !bytes.isEmpty else { return bytes }
            let place = next(bytes.count)
            let end = min(bytes.count, place + 1 + next(12))
            switch next(6) {
            case 0: bytes[place] = UInt8(next(256))
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: bytes[place..<end], at: end)
            case 3: bytes.replaceSubrange(place..<end, with: Self.pieces[next(Self.pieces.count)].utf8)
            case 4: bytes.insert(contentsOf: Self.pieces[next(Self.pieces.count)].utf8, at: place)
            default: replaceNumber(in: &bytes, from: place)
            }
        }
        return bytes
    }

    private mutating func replaceNumber(in bytes: inout [UInt8], from place: Int) {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let start = bytes[place...].firstIndex(where: digits.contains) else { return }
        let end = bytes[start...].firstIndex { !digits.contains($0) } ?? bytes.endIndex
        bytes.replaceSubrange(start..<end, with: Self.pieces[next(8)].utf8)
    }

    /// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
    private mutating func next(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ (value >> 31)) % UInt64(bound))
    }
}
