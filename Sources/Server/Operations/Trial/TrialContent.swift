import OpenSSLCrypto
import Providers
import SyncProtocol

/// Random content, returned in parts like a phone's upload.
final class TrialContent: UploadContent {
    /// The size of the parts, rounded up to the provider's unit; Amazon accepts no smaller parts.
    static let partBytes = 5 << 20

    /// The number of bytes that the generator returns at a time.
    private static let randomBytes = 64 * 1024

    let bytes: [UInt8]
    let providerHash: String
    private var position = 0

    /// - Throws: ``CryptoError``.
    init(count: Int, for storageType: CloudStorageType) throws {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            bytes += try RandomBytes.generate(count: min(Self.randomBytes, count - bytes.count))
        }
        self.bytes = bytes
        var hasher = ContentHasher(for: storageType)
        hasher.update(bytes)
        providerHash = hasher.finish().providerHash
    }

    var lengthBytes: Int64 { Int64(bytes.count) }

    func reserveMemory(partBytes: Int) -> Bool { true }

    func nextPart(granularity: Int, atMost limit: Int) -> UploadPart {
        part(ofAtMost: min((Self.partBytes + granularity - 1) / granularity * granularity, limit))
    }

    func rest() -> UploadPart { part(ofAtMost: bytes.count) }

    private func part(ofAtMost count: Int) -> UploadPart {
        let end = min(bytes.count, position + count)
        defer { position = end }
        return UploadPart(bytes: bytes[position..<end], offset: Int64(position), isLast: end == bytes.count)
    }
}
