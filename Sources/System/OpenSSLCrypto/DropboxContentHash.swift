/// Dropbox's `content_hash` over bytes that arrive piece by piece.
///
/// The SHA-256 of the concatenated SHA-256 digests of all consecutive blocks of 4 MiB, the last of which may be
/// shorter; of an empty file, the SHA-256 of nothing
/// (https://www.dropbox.com/developers/reference/content-hash).
/// Holds two digest states and no input bytes.
public struct DropboxContentHash: ~Copyable {
    /// Block size in bytes.
    public static let blockBytes = 4_194_304

    private var total = IncrementalDigest(.sha256)
    private var block = IncrementalDigest(.sha256)
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

    /// Returns the hash of the whole file as 32 raw bytes, and ends this value.
    public consuming func finish() -> [UInt8] {
        if bytesInBlock > 0 { finishBlock() }
        return total.finishAndRestart()
    }

    private mutating func finishBlock() {
        total.update(block.finishAndRestart())
        bytesInBlock = 0
    }
}
