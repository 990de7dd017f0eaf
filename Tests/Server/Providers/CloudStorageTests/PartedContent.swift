import Providers
import SyncProtocol
import TestSupport

/// Content that a test delivers in parts of a chosen size.
final class PartedContent: UploadContent {
    /// The error of failing content.
    struct Failure: Error {}

    let bytes: [UInt8]
    let providerHash: String
    private let partBytes: Int
    private let hasMemory: Bool
    private var position = 0
    private let beforePart: (_ isLast: Bool) throws -> Void

    /// - Parameters:
    ///   - partBytes: raised to a multiple of the provider's granularity.
    ///   - hasMemory: whether parts as large as the provider's smallest may be kept.
    ///   - announcedHash: replaces the correct one.
    ///   - beforePart: called before each part is delivered; may throw.
    init(
        _ bytes: [UInt8], for kind: ProviderUnderTest, partBytes: Int = 1 << 18, hasMemory: Bool = true,
        announcedHash: String? = nil,
        beforePart: @escaping (_ isLast: Bool) throws -> Void = { _ in }
    ) {
        self.bytes = bytes
        self.partBytes = partBytes
        self.hasMemory = hasMemory
        self.beforePart = beforePart
        var hasher = ContentHasher(for: kind.makeProvider().storageType)
        hasher.update(bytes)
        let hash = hasher.finish().providerHash
        providerHash = announcedHash ?? hash
    }

    var lengthBytes: Int64 { Int64(bytes.count) }

    func reserveMemory(partBytes: Int) -> Bool { hasMemory }

    func rest() throws -> UploadPart {
        try beforePart(true)
        defer { position = bytes.count }
        return UploadPart(bytes: bytes[position...], offset: Int64(position), isLast: true)
    }

    func nextPart(granularity: Int, atMost limit: Int) throws -> UploadPart {
        let size = min(max(1, (partBytes + granularity - 1) / granularity) * granularity, limit)
        let end = min(bytes.count, position + size)
        try beforePart(end == bytes.count)
        defer { position = end }
        // Indices that do not begin at 0, as in a reused buffer.
        return UploadPart(bytes: bytes[position..<end], offset: Int64(position), isLast: end == bytes.count)
    }
}
