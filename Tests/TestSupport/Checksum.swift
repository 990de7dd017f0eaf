import OpenSSLCrypto

/// Checksums in the form of the wire.
public enum Checksum {
    /// MD5 in 32 lower-case hexadecimal digits, as Google Drive has it.
    public static func md5(_ bytes: [UInt8]) -> String {
        var digest = IncrementalMD5()
        digest.update(bytes)
        return digest.finish()
    }

    /// SHA-1 in 40 upper-case hexadecimal digits, as OneDrive once had it.
    public static func sha1(_ bytes: [UInt8]) -> String { IncrementalDigest.digest(of: bytes, .sha1).hexUppercase }
}

/// MD5 of data that come in pieces.
public struct IncrementalMD5: ~Copyable {
    private var digest = IncrementalDigest(.md5)

    /// Begins with nothing.
    public init() {}

    /// Adds a piece.
    public mutating func update(_ bytes: [UInt8]) { digest.update(bytes) }

    /// The checksum of all pieces, in lower-case hexadecimal digits.
    public mutating func finish() -> String { digest.finishAndRestart().hexLowercase }
}
