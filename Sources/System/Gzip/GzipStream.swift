internal import CIsal

/// Compresses a text while it is written, with gzip (RFC 1952).
///
/// ISA-L compresses a list in JSON in an eighth of zlib's time (docs/adr/0114-index-is-compressed-by-syncd.md). A stream
/// occupies 200 KB until it is released.
///
/// Not `Sendable`: one thread at a time.
@safe
public struct GzipStream: ~Copyable {
    /// The most that an uncompressed block contains (RFC 1951, section 3.2.4).
    private static let storedBlockBytes = 65_535
    private static let pieceBytes = 32 * 1024

    /// The compressed bytes so far; the owner removes those that it has sent.
    public var output: [UInt8] = []

    private let stream: UnsafeMutablePointer<isal_zstream>
    private let workingMemory: UnsafeMutablePointer<UInt8>
    private let piece: UnsafeMutablePointer<UInt8>
    private var checksum: UInt32 = 0
    private var textBytes: UInt32 = 0
    /// Whether a block of compressed text has not ended.
    private var isInBlock = false

    /// Starts a stream.
    public init() {
        unsafe stream = .allocate(capacity: 1)
        unsafe workingMemory = .allocate(capacity: isal_level_1_bytes)
        unsafe piece = .allocate(capacity: Self.pieceBytes)
        unsafe isal_deflate_init(stream)
        // Without a header and a trailer: this type writes them, because it also stores text.
        unsafe stream.pointee.gzip_flag = UInt16(IGZIP_DEFLATE)
        unsafe stream.pointee.level = 1
        unsafe stream.pointee.level_buf = unsafe workingMemory
        unsafe stream.pointee.level_buf_size = UInt32(isal_level_1_bytes)
        // Without a name and a time, from an unknown system (RFC 1952, section 2.3).
        output = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    }

    deinit {
        unsafe stream.deallocate()
        unsafe workingMemory.deallocate()
        unsafe piece.deallocate()
    }

    /// Appends text. It may be held back until ``store(_:)`` or ``finish()``.
    public mutating func append(_ text: Span<UInt8>) {
        guard !text.isEmpty else { return }
        include(text)
        compress(text, flush: NO_FLUSH)
        isInBlock = true
    }

    /// Appends text uncompressed, so that the length of the output reveals nothing about it except its length.
    public mutating func store(_ text: Span<UInt8>) {
        endBlock()
        include(text)
        for start in stride(from: 0, to: text.count, by: Self.storedBlockBytes) {
            let block = text.extracting(start..<min(text.count, start + Self.storedBlockBytes))
            writeStoredBlock(block, isLast: false)
        }
    }

    /// Ends the stream; nothing may be appended afterwards.
    public mutating func finish() {
        endBlock()
        writeStoredBlock([UInt8]().span, isLast: true)
        append(littleEndian: checksum)
        append(littleEndian: textBytes)
    }

    /// Ends the block at a whole byte. No later block refers to earlier text, because ISA-L does not know stored text.
    private mutating func endBlock() {
        guard isInBlock else { return }
        isInBlock = false
        compress([UInt8]().span, flush: FULL_FLUSH)
    }

    private mutating func include(_ text: Span<UInt8>) {
        textBytes &+= UInt32(truncatingIfNeeded: text.count)
        unsafe text.withUnsafeBufferPointer { text in
            guard let start = unsafe UnsafeMutablePointer(mutating: text.baseAddress) else { return }
            checksum = unsafe crc32_gzip_refl(checksum, start, UInt64(text.count))
        }
    }

    private mutating func compress(_ text: Span<UInt8>, flush: Int32) {
        unsafe text.withUnsafeBufferPointer { text in
            unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: text.baseAddress)
            unsafe stream.pointee.avail_in = UInt32(text.count)
            unsafe stream.pointee.flush = UInt16(flush)
            repeat {
                unsafe stream.pointee.next_out = unsafe piece
                unsafe stream.pointee.avail_out = UInt32(Self.pieceBytes)
                let result = unsafe isal_deflate(stream)
                precondition(result == COMP_OK, "ISA-L accepts the level and its working memory")
                let written = unsafe Self.pieceBytes - Int(stream.pointee.avail_out)
                unsafe output.append(contentsOf: UnsafeBufferPointer(start: piece, count: written))
            } while unsafe stream.pointee.avail_out == 0 || stream.pointee.avail_in > 0
        }
    }

    private mutating func writeStoredBlock(_ text: Span<UInt8>, isLast: Bool) {
        let count = UInt16(text.count)
        output.append(isLast ? 1 : 0)
        for number in [count, ~count] { output += [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }
        for index in text.indices { output.append(text[index]) }
    }

    private mutating func append(littleEndian number: UInt32) {
        for shift in [0, 8, 16, 24] { output.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}
