import Providers
import SyncProtocol

/// The bytes of a large file being moved, as the content of an upload: each part is read from the former account when
/// the new one is ready for it.
///
/// The last part is passed on only after all bytes have been verified as the version's.
final class MovedContent: UploadContent {
    /// The largest part held in memory.
    private static let largestPartBytes = 64 << 20

    let lengthBytes: Int64
    private let source: MoveSource
    /// The hash that the provider must report, if known in advance.
    private let expectedHash: String?
    private var identity: ContentIdentity
    private let beforeEnd: () throws -> Void
    private var hasher: ContentHasher
    /// Bytes from a position on that were read and not handed out yet.
    private var window: [UInt8] = []
    private var windowPosition = 0
    /// The hashes of the whole content; known once all of it was read.
    private(set) var hashes: ContentHashes?

    /// - Parameters:
    ///   - storageType: the storage that receives the bytes.
    ///   - expectedHash: required if the provider must know it before it gets the bytes.
    ///   - beforeEnd: called when everything has been read and verified, before the end is passed on.
    init(
        _ source: MoveSource, to storageType: CloudStorageType, expecting expectedHash: String?,
        provenBy identity: ContentIdentity, beforeEnd: @escaping () throws -> Void
    ) {
        self.source = source
        lengthBytes = source.lengthBytes
        self.expectedHash = expectedHash
        self.identity = identity
        self.beforeEnd = beforeEnd
        hasher = ContentHasher(for: storageType)
    }

    var providerHash: String { hashes?.providerHash ?? expectedHash ?? "" }

    func reserveMemory(partBytes: Int) -> Bool { partBytes <= Self.largestPartBytes }

    func nextPart(granularity: Int, atMost limit: Int) throws -> UploadPart {
        let start = hasher.lengthBytes
        let most = min(max(source.windowBytes / granularity, 1) * granularity, limit)
        let count = Int(min(Int64(most), lengthBytes - start))
        var bytes = [UInt8](repeating: 0, count: count)
        try fill(&bytes, 0..<count)
        return UploadPart(bytes: bytes[...], offset: start, isLast: hasher.lengthBytes == lengthBytes)
    }

    func rest() -> UploadPart {
        let start = hasher.lengthBytes
        let window = PartWindow(
            count: Int(lengthBytes - start), buffer: [], arrivedBytes: 0, isSliding: true
        ) { buffer, range in try self.fill(&buffer, range) }
        return UploadPart(window, offset: start, isLast: true)
    }

    private func fill(_ buffer: inout [UInt8], _ range: Range<Int>) throws {
        var position = range.lowerBound
        while position < range.upperBound {
            if windowPosition == window.count {
                window = try source.window(at: hasher.lengthBytes)
                windowPosition = 0
            }
            let piece = windowPosition..<min(windowPosition + range.upperBound - position, window.count)
            buffer.replaceSubrange(position..<(position + piece.count), with: window[piece])
            hasher.update(window.span.extracting(piece))
            identity.update(window.span.extracting(piece))
            windowPosition = piece.upperBound
            position += piece.count
        }
        if hasher.lengthBytes == lengthBytes, hashes == nil { try verifyEnd() }
    }

    private func verifyEnd() throws {
        try identity.verify()
        let hashes = hasher.finish()
        guard expectedHash.map({ $0 == hashes.providerHash }) ?? true else { throw EndpointError.contentMismatch }
        self.hashes = hashes
        try beforeEnd()
    }
}
