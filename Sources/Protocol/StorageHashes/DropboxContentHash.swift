/// Dropbox's `content_hash` over bytes that arrive piece by piece.
///
/// The SHA-256 of the concatenated SHA-256 digests of all consecutive blocks of 4 MiB, the last of which may be
/// shorter; of an empty file, the SHA-256 of nothing
/// (https://www.dropbox.com/developers/reference/content-hash).
/// Holds two digest states and no input bytes.
public struct DropboxContentHash: Sendable {
    /// Block size in bytes.
    public static let blockBytes = 4_194_304

    private var total = FileDigest(.sha256)
    private var block = FileDigest(.sha256)
    private var bytesInBlock = 0

    /// Starts the hash of an empty file.
    public init() {}

    /// Adds `bytes` to the end of the file.
    public mutating func update(_ bytes: RawSpan) {
        var rest = bytes
        while !rest.isEmpty {
            let part = rest.extracting(first: min(rest.byteCount, Self.blockBytes - bytesInBlock))
            block.update(part)
            bytesInBlock += part.byteCount
            if bytesInBlock == Self.blockBytes { finishBlock() }
            rest = rest.extracting(droppingFirst: part.byteCount)
        }
    }

    /// Adds `bytes` to the end of the file.
    public mutating func update(_ bytes: Span<UInt8>) { unsafe update(bytes.bytes) }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: [UInt8]) { unsafe update(bytes.span.bytes) }

    /// Adds `bytes` to the end of the file.
    public mutating func update(_ bytes: ArraySlice<UInt8>) { unsafe update(bytes.span.bytes) }

    /// The hash of the whole file as 32 raw bytes; more may be added afterwards.
    public func finish() -> [UInt8] {
        var ended = self
        if ended.bytesInBlock > 0 { ended.finishBlock() }
        return ended.total.finish()
    }

    private mutating func finishBlock() {
        total.update(block.finish())
        block = FileDigest(.sha256)
        bytesInBlock = 0
    }
}

#if !canImport(CryptoKit)
    extension DropboxContentHash {
        /// Continues a computation.
        /// - Parameters:
        ///   - state: ``state`` of another hash.
        ///   - length: how many bytes it had.
        /// - Returns: `nil` if the state is invalid.
        public init?(state: [UInt8], length: Int64) {
            let half = state.count / 2
            guard length >= 0, let total = FileDigest(sha256: state[..<half]),
                let block = FileDigest(sha256: state[half...])
            else { return nil }
            self.total = total
            self.block = block
            bytesInBlock = Int(length % Int64(Self.blockBytes))
        }

        /// The data that is needed to continue the computation elsewhere, besides the number of bytes added.
        public var state: [UInt8] { total.state + block.state }
    }
#endif
