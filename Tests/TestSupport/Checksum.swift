import Foundation
import OpenSSLCrypto
import StorageHashes

/// Checksums in wire format.
public enum Checksum {
    /// The wire checksum of bytes in a storage.
    public static func of(_ bytes: [UInt8], in storage: SandboxProvider) -> String {
        switch storage {
        case .dropbox: dropbox(bytes)
        case .microsoft: IncrementalDigest.digest(of: bytes, .sha1).hexUppercase
        case .google, .facebook, .apple, .webdav: md5(bytes)
        }
    }

    /// Dropbox's content hash in 64 lower-case hexadecimal digits.
    public static func dropbox(_ bytes: [UInt8]) -> String {
        var hash = DropboxContentHash()
        hash.update(bytes)
        return hash.finish().hexLowercase
    }

    /// MD5 in 32 lower-case hexadecimal digits, as in Google Drive.
    public static func md5(_ bytes: [UInt8]) -> String {
        var digest = IncrementalMD5()
        digest.update(bytes)
        return digest.finish()
    }

    /// SHA-1 in 40 upper-case hexadecimal digits, as formerly in OneDrive.
    public static func sha1(_ bytes: [UInt8]) -> String { IncrementalDigest.digest(of: bytes, .sha1).hexUppercase }

    /// OneDrive's own hash in base64.
    public static func quickXor(_ bytes: [UInt8]) -> String {
        var hash = QuickXorHash()
        hash.update(bytes)
        return Data(hash.digest()).base64EncodedString()
    }
}

/// The wire checksum of data that arrive in pieces.
public struct IncrementalCheckSum: ~Copyable {
    private let storage: SandboxProvider
    private var md5 = IncrementalDigest(.md5)
    private var sha1 = IncrementalDigest(.sha1)
    private var dropbox = DropboxContentHash()

    /// Begins without data.
    public init(in storage: SandboxProvider) { self.storage = storage }

    /// Adds a piece.
    public mutating func update(_ bytes: [UInt8]) {
        switch storage {
        case .dropbox: dropbox.update(bytes)
        case .microsoft: sha1.update(bytes)
        case .google, .facebook, .apple, .webdav: md5.update(bytes)
        }
    }

    /// The checksum of all pieces.
    public mutating func finish() -> String {
        switch storage {
        case .dropbox:
            var ended = DropboxContentHash()
            swap(&ended, &dropbox)
            return ended.finish().hexLowercase
        case .microsoft: return sha1.finishAndRestart().hexUppercase
        case .google, .facebook, .apple, .webdav: return md5.finishAndRestart().hexLowercase
        }
    }
}

/// MD5 of data that arrive in pieces.
public struct IncrementalMD5: ~Copyable {
    private var digest = IncrementalDigest(.md5)

    /// Begins without data.
    public init() {}

    /// Adds a piece.
    public mutating func update(_ bytes: [UInt8]) { digest.update(bytes) }

    /// The checksum of all pieces, in lower-case hexadecimal digits.
    public mutating func finish() -> String { digest.finishAndRestart().hexLowercase }
}
