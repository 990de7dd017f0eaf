/// UTF-8 text that a connection stored as latin1, so that it reads as `Ã¤` instead of `ä`.
///
/// MySQL's latin1 is Windows-1252, with the five bytes that Windows leaves undefined as control characters
/// (https://mariadb.com/kb/en/supported-character-sets-and-collations/).
enum MisreadText {
    /// The characters at 0x80 to 0x9F.
    private static let upper: [UInt32] = [
        0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,
        0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x9D, 0x017E, 0x0178,
    ]
    private static let bytes: [UInt32: UInt8] = Dictionary(
        uniqueKeysWithValues: upper.enumerated().map { ($1, UInt8($0 + 0x80)) })

    /// The intended text: `text` itself, unless its latin1 bytes are valid UTF-8 beyond ASCII.
    ///
    /// A text that really contains `Ã¤` is changed wrongly; that is far rarer than the mistake.
    static func repaired(_ text: String) -> String {
        var latin1: [UInt8] = []
        var isASCII = true
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0..<0x80: latin1.append(UInt8(scalar.value))
            case 0xA0...0xFF:
                isASCII = false
                latin1.append(UInt8(scalar.value))
            default:
                guard let byte = bytes[scalar.value] else { return text }
                isASCII = false
                latin1.append(byte)
            }
        }
        if isASCII { return text }
        return String(validating: latin1, as: UTF8.self) ?? text
    }
}
