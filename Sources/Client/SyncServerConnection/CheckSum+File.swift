import Crypto
public import Foundation
import StorageHashes
public import SyncProtocol

extension CheckSum {
    /// Computes the checksum of a file, in chunks: memory use does not grow with the file.
    ///
    /// Each kind of storage has its own flavour (docs/protocol.md, section 7.4): ``CloudStorageType/checkSumFlavour``.
    /// - Throws: Errors of reading the file; `CancellationError`.
    public static func ofFile(at file: URL, flavour: Flavour) async throws -> CheckSum {
        switch flavour {
        case .md5: try await digest(Insecure.MD5(), of: file, flavour)
        case .sha1: try await digest(Insecure.SHA1(), of: file, flavour)
        case .dropboxContentHash: try await digest(BlockDigest(), of: file, flavour)
        }
    }

    /// The checksum of bytes in memory.
    public static func of(_ data: Data, flavour: Flavour) -> CheckSum {
        func sum(_ digest: some IncrementalDigest) -> CheckSum {
            var digest = digest
            digest.append(data)
            return written(digest.finished(), flavour)
        }
        switch flavour {
        case .md5: return sum(Insecure.MD5())
        case .sha1: return sum(Insecure.SHA1())
        case .dropboxContentHash: return sum(BlockDigest())
        }
    }

    private static func digest(
        _ digest: some IncrementalDigest, of file: URL, _ flavour: Flavour
    ) async throws -> CheckSum {
        written(try await digest.finished(reading: file), flavour)
    }

    private static func written(_ digest: [UInt8], _ flavour: Flavour) -> CheckSum {
        guard let checkSum = CheckSum(digest: digest, flavour: flavour) else {
            preconditionFailure("the digest has the length of its flavour")
        }
        return checkSum
    }
}

extension SHA256Digits {
    /// Computes SHA-256 of a file, in chunks.
    /// - Throws: Errors of reading the file; `CancellationError`.
    public static func ofFile(at file: URL) async throws -> SHA256Digits {
        let digest = try await SHA256().finished(reading: file)
        let digits = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        guard let text = SHA256Digits(queryText: digits) else { preconditionFailure("32 bytes have 64 digits") }
        return text
    }
}

extension StorageHash {
    /// Computes OneDrive's own hash of a file, in chunks.
    /// - Throws: Errors of reading the file; `CancellationError`.
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
    mutating func append(_ bytes: Data)
    func finished() -> [UInt8]
}

extension IncrementalDigest {
    /// The digest of a file's contents.
    fileprivate func finished(reading file: URL) async throws -> [UInt8] {
        var digest = self
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
            digest.append(piece)
            try Task.checkCancellation()
            await Task.yield()
        }
        return digest.finished()
    }
}

extension Insecure.MD5: IncrementalDigest {
    fileprivate mutating func append(_ bytes: Data) { update(data: bytes) }
    fileprivate func finished() -> [UInt8] { Array(finalize()) }
}

extension Insecure.SHA1: IncrementalDigest {
    fileprivate mutating func append(_ bytes: Data) { update(data: bytes) }
    fileprivate func finished() -> [UInt8] { Array(finalize()) }
}

extension SHA256: IncrementalDigest {
    fileprivate mutating func append(_ bytes: Data) { update(data: bytes) }
    fileprivate func finished() -> [UInt8] { Array(finalize()) }
}

extension QuickXorHash: IncrementalDigest {
    fileprivate mutating func append(_ bytes: Data) { unsafe bytes.withUnsafeBytes { unsafe update($0.bytes) } }
    fileprivate func finished() -> [UInt8] { digest() }
}

/// SHA-256 of the concatenated SHA-256 digests of all blocks of 4 MiB; empty contents have no block.
///
/// See https://www.dropbox.com/developers/reference/content-hash
private struct BlockDigest: IncrementalDigest {
    static let blockBytes = 4_194_304

    private var digests = SHA256()
    private var block = SHA256()
    private var filled = 0

    mutating func append(_ bytes: Data) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.blockBytes - filled)
            block.update(data: part)
            filled += part.count
            rest = rest.dropFirst(part.count)
            if filled == Self.blockBytes { endBlock() }
        }
    }

    func finished() -> [UInt8] {
        var copy = self
        if copy.filled > 0 { copy.endBlock() }
        return Array(copy.digests.finalize())
    }

    private mutating func endBlock() {
        unsafe block.finalize().withUnsafeBytes { unsafe digests.update(bufferPointer: $0) }
        block = SHA256()
        filled = 0
    }
}
