public import Foundation
import StorageHashes
public import SyncProtocol

extension CheckSum {
    /// Computes the checksum of a file, in chunks: memory use does not grow with the file.
    ///
    /// Each kind of storage has its own flavour (docs/protocol.md, section 7.4): ``CloudStorageType/checkSumFlavour``.
    /// - Throws: Errors from reading the file; `CancellationError`.
    public static func ofFile(at file: URL, flavour: Flavour) async throws -> CheckSum {
        written(try await flavour.digest.finished(reading: file), flavour)
    }

    /// The checksum of bytes in memory.
    public static func of(_ data: Data, flavour: Flavour) -> CheckSum {
        written(flavour.digest.finished(adding: data), flavour)
    }

    private static func written(_ digest: [UInt8], _ flavour: Flavour) -> CheckSum {
        guard let checkSum = CheckSum(digest: digest, flavour: flavour) else {
            preconditionFailure("the digest has the length of its flavour")
        }
        return checkSum
    }
}

extension CheckSum.Flavour {
    fileprivate var digest: any IncrementalDigest {
        switch self {
        case .md5: FileDigest(.md5)
        case .sha1: FileDigest(.sha1)
        case .dropboxContentHash: DropboxContentHash()
        }
    }
}

extension SHA256Digits {
    /// Computes SHA-256 of a file, in chunks.
    /// - Throws: Errors from reading the file; `CancellationError`.
    public static func ofFile(at file: URL) async throws -> SHA256Digits {
        let digest = try await FileDigest(.sha256).finished(reading: file)
        let digits = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        guard let text = SHA256Digits(queryText: digits) else { preconditionFailure("32 bytes have 64 digits") }
        return text
    }
}

extension StorageHash {
    /// Computes OneDrive's own hash of a file, in chunks.
    /// - Throws: Errors from reading the file; `CancellationError`.
    static func ofFile(at file: URL) async throws -> StorageHash {
        let digest = try await QuickXorHash().finished(reading: file)
        guard let hash = StorageHash(queryText: Data(digest).base64EncodedString()) else {
            preconditionFailure("the digest has 20 bytes")
        }
        return hash
    }
}

/// A digest that is updated chunk by chunk.
private protocol IncrementalDigest {
    mutating func update(_ bytes: RawSpan)
    func finish() -> [UInt8]
}

extension IncrementalDigest {
    /// The digest of `bytes`.
    fileprivate func finished(adding bytes: Data) -> [UInt8] {
        var digest = self
        digest.update(bytes.bytes)
        return digest.finish()
    }

    /// The digest of a file's contents.
    fileprivate func finished(reading file: URL) async throws -> [UInt8] {
        var digest = self
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
            digest.update(piece.bytes)
            try Task.checkCancellation()
            await Task.yield()
        }
        return digest.finish()
    }
}

extension FileDigest: IncrementalDigest {}
extension DropboxContentHash: IncrementalDigest {}
extension QuickXorHash: IncrementalDigest {
    fileprivate func finish() -> [UInt8] { digest() }
}
