/// The checksum of a file's bytes, as hexadecimal text.
///
/// The algorithm depends on the owner's storage, which holds or will hold the file; a request does not specify it. Two
/// checksums are equal if their digits are equal, ignoring letter case.
public struct CheckSum: CasePreservingIdentifier {
    /// An algorithm together with the written form that clients expect.
    public enum Flavour: Sendable, Hashable, CaseIterable {
        /// MD5 of the bytes: 32 digits, lower case. Google Drive's `md5Checksum`.
        case md5
        /// SHA-256 over the SHA-256 digests of the 4 MiB blocks: 64 digits, lower case.
        /// See https://www.dropbox.com/developers/reference/content-hash
        case dropboxContentHash
        /// SHA-1 of the bytes: 40 digits, upper case, as OneDrive used to report it.
        case sha1

        /// Number of hexadecimal digits.
        public var digitCount: Int {
            switch self {
            case .md5: 32
            case .sha1: 40
            case .dropboxContentHash: 64
            }
        }

        /// Whether the canonical form has upper-case digits. Clients compare downloads exactly, including case.
        public var isUppercase: Bool { self == .sha1 }
    }

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.hexadecimal

    /// Maximum number of digits accepted, more than any flavour has.
    public static let maximumDigits = 128

    /// The digits exactly as received.
    public let rawValue: String

    /// Creates a checksum from hexadecimal digits, unchanged; nil if there are none, more than 128, or any other
    /// character.
    public init?(_ text: String) {
        guard (1...Self.maximumDigits).contains(text.utf8.count),
            text.utf8.allSatisfy({ HexadecimalDigit.value(of: $0) != nil })
        else { return nil }
        rawValue = text
    }

    /// Creates a checksum from a digest, in the canonical form of its flavour; nil if its length is not that of the
    /// flavour.
    public init?(digest: some Collection<UInt8>, flavour: Flavour) {
        guard digest.count * 2 == flavour.digitCount else { return nil }
        let digit = flavour.isUppercase ? HexadecimalDigit.uppercase : HexadecimalDigit.lowercase
        rawValue = String(decoding: digest.flatMap { [digit($0 >> 4), digit($0)] }, as: UTF8.self)
    }

    /// The flavour with this number of digits, or nil.
    public var flavour: Flavour? {
        Flavour.allCases.first { $0.digitCount == rawValue.utf8.count }
    }

    /// The same checksum in the letter case of `flavour`; nil if the number of digits differs.
    public func canonical(as flavour: Flavour) -> CheckSum? {
        guard rawValue.utf8.count == flavour.digitCount else { return nil }
        return CheckSum(flavour.isUppercase ? rawValue.uppercased() : rawValue.lowercased())
    }
}

/// SHA-256 as 64 hexadecimal digits in either letter case.
public struct SHA256Digits: QueryValue, Hashable {
    /// The name of the value's form in error messages.
    public static let expectedForm = ExpectedForm.hexadecimal

    /// The digits exactly as received.
    public let queryText: String

    /// Accepts 64 hexadecimal digits; nil for anything else.
    public init?(queryText: String) {
        guard queryText.utf8.count == 64, queryText.utf8.allSatisfy({ HexadecimalDigit.value(of: $0) != nil }) else {
            return nil
        }
        self.queryText = queryText
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        let digits = queryText.utf8.map { HexadecimalDigit.value(of: $0) ?? 0 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

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
