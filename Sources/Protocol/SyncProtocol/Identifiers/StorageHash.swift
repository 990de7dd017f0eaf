/// The hash that a storage itself reports for a file's bytes, if it differs from the checksum that clients compare:
/// OneDrive's `quickXorHash`, 20 bytes in base64.
public struct StorageHash: QueryValue, Hashable {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.storageHash

    /// The number of bytes.
    public static let byteCount = 20
    /// The number of base64 characters for 20 bytes; the last one before the padding has only four significant bits.
    private static let characterCount = 28

    /// The hash in base64, with padding.
    public let queryText: String

    /// Parses base64 of 20 bytes, in the only form that an encoder produces.
    public init?(queryText text: String) {
        let characters = Array(text.utf8)
        guard characters.count == Self.characterCount, characters.last == UInt8(ascii: "=") else { return nil }
        let digits = characters.dropLast().map(Self.value(of:))
        guard digits.allSatisfy({ $0 != nil }), let last = digits.last ?? nil, last & 0b11 == 0 else { return nil }
        queryText = text
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
