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

    /// The flavour with this number of digits; nil if there is none.
    public var flavour: Flavour? {
        Flavour.allCases.first { $0.digitCount == rawValue.utf8.count }
    }

    /// The same checksum in the letter case of `flavour`; nil if the number of digits differs.
    public func canonical(as flavour: Flavour) -> CheckSum? {
        guard rawValue.utf8.count == flavour.digitCount else { return nil }
        return CheckSum(flavour.isUppercase ? rawValue.uppercased() : rawValue.lowercased())
    }
}
