internal import CZlib

/// Compresses a text while it is written, with gzip (RFC 1952), faster than zlib does if the text is a JSON list.
///
/// A row of such a list repeats the previous one, except for some values. The stream looks for repetitions only at the
/// distance of the previous one, and at quotes; random values such as UUIDs cost nothing but their bits
/// (docs/adr/0114-index-is-compressed-by-syncd.md). Any other text is compressed correctly as well, but less; it never
/// grows by more than 0.1 percent and 30 bytes.
public struct GzipStream: Sendable {
    /// The maximum distance of a repetition (RFC 1951, section 2).
    private static let windowBytes = 32 << 10
    /// The text of a block; a stored block has at most 65,535 bytes (RFC 1951, section 3.2.4).
    private static let blockBytes = 60 << 10

    /// The compressed bytes so far; the owner removes those that it has sent.
    public var output: [UInt8] = []

    /// The preceding text, up to a window of it, then that of the next block.
    private var text: [UInt8] = []
    /// Where the text of the next block begins.
    private var start = 0
    private var repetitions = RepetitionSearch()
    private var tokens: [Token] = []
    private var bits = BitWriter()
    private var checksum: UInt = 0
    private var textBytes: UInt32 = 0

    /// Starts a stream.
    public init() {
        // Without a name and a time, from an unknown system (RFC 1952, section 2.3).
        output = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        text.reserveCapacity(Self.windowBytes + Self.blockBytes)
        tokens.reserveCapacity(Self.blockBytes / 4)
    }

    /// Appends text. It may be held back until there is a whole block.
    public mutating func append(_ bytes: Span<UInt8>) { append(bytes, isStored: false) }

    /// Appends text uncompressed, so that the length of the output reveals nothing about it except its length.
    public mutating func store(_ bytes: Span<UInt8>) {
        if text.count > start { endBlock(isStored: false) }
        append(bytes, isStored: true)
        if text.count > start { endBlock(isStored: true) }
    }

    /// Ends the stream; nothing may be appended afterwards.
    public mutating func finish() {
        if text.count > start { endBlock(isStored: false) }
        // An empty last block, with fixed codes.
        bits.write(0b011, 3, to: &output)
        bits.write(0, 7, to: &output)
        bits.align(&output)
        for number in [UInt32(truncatingIfNeeded: checksum), textBytes] {
            for shift in [0, 8, 16, 24] { output.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
    }

    private mutating func append(_ bytes: Span<UInt8>, isStored: Bool) {
        textBytes &+= UInt32(truncatingIfNeeded: bytes.count)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            checksum = unsafe crc32_z(checksum, bytes.baseAddress, bytes.count)
            var index = 0
            while index < bytes.count {
                let end = min(bytes.count, index + Self.blockBytes - (text.count - start))
                unsafe text.append(contentsOf: bytes[index..<end])
                index = end
                if text.count - start == Self.blockBytes { endBlock(isStored: isStored) }
            }
        }
    }

    private mutating func endBlock(isStored: Bool) {
        let bytes = text.count - start
        if isStored {
            storeBlock()
        } else {
            repetitions.divide(text, from: start, into: &tokens)
            let codes = BlockCodes(tokens)
            if codes.totalBits / 8 < bytes { codes.write(tokens, &bits, &output) } else { storeBlock() }
            tokens.removeAll(keepingCapacity: true)
        }
        start = text.count
        let excess = start - Self.windowBytes
        guard excess > 0 else { return }
        text.removeSubrange(..<excess)
        start -= excess
        repetitions.forget(excess)
    }

    private mutating func storeBlock() {
        let count = UInt16(text.count - start)
        bits.write(0b000, 3, to: &output)
        bits.align(&output)
        for number in [count, ~count] { output += [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }
        output += text[start...]
    }
}

/// Divides a text into bytes and repetitions.
private struct RepetitionSearch: Sendable {
    private static let windowBytes = 32 << 10
    /// A shorter repetition costs more than its bytes.
    private static let shortest = 5
    private static let longest = 258
    /// The number of bytes that must be equal for a repetition at another distance than the previous one.
    private static let keyBytes = 8
    private static let placeBits = 13
    private static let quote = UInt8(ascii: "\"")

    /// The last position of a quote, by the hash of the 8 bytes that begin with it; negative if there is none.
    private var places = [Int32](repeating: .min / 2, count: 1 << placeBits)
    /// That of the previous repetition.
    private var distance = Int.max

    /// Adjusts positions after the first `count` bytes of the text have been removed.
    mutating func forget(_ count: Int) {
        for index in places.indices { places[index] -= Int32(count) }
    }

    mutating func divide(_ text: [UInt8], from start: Int, into tokens: inout [Token]) {
        unsafe text.withUnsafeBytes { text in
            unsafe places.withUnsafeMutableBufferPointer { places in
                unsafe Self.divide(text, start, places, &distance, &tokens)
            }
        }
    }

    private static func divide(
        _ text: UnsafeRawBufferPointer, _ start: Int, _ places: UnsafeMutableBufferPointer<Int32>,
        _ distance: inout Int, _ tokens: inout [Token]
    ) {
        var position = start
        let lastKey = text.count - keyBytes
        while position < text.count {
            let byte = unsafe text[position]
            var length = 0
            if position <= lastKey {
                if distance <= position, unsafe isRepeated(text, position, distance) {
                    length = unsafe matchLength(text, position, position - distance)
                }
                if byte == quote, let earlier = unsafe exchange(text, position, places) {
                    let other = unsafe matchLength(text, position, earlier)
                    if other > length || other == length && position - earlier < distance {
                        (length, distance) = (other, position - earlier)
                    }
                }
            }
            guard length > 0 else {
                tokens.append(.literal(byte))
                position += 1
                continue
            }
            // A repetition usually ends within a value, all of which another row may contain.
            while let later = unsafe lastQuote(text, position + shortest - 1, min(position + length - 1, lastKey)),
                let earlier = unsafe exchange(text, later, places), later - earlier != distance
            {
                let (skipped, other) = unsafe (later - position, matchLength(text, later, earlier))
                guard skipped + other > length + 2 else { break }
                let isWhole =
                    unsafe skipped + other <= longest && skipped <= earlier
                    && matchLength(text, position, earlier - skipped) > skipped
                if !isWhole {
                    tokens.append(.match(length: skipped, distance: distance))
                    position = later
                }
                (length, distance) = (isWhole ? skipped + other : other, later - earlier)
                if isWhole { break }
            }
            tokens.append(.match(length: length, distance: distance))
            position += length
        }
    }

    /// The 8 bytes at a position, the first in the lowest bits.
    @inline(__always)
    private static func key(_ text: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        unsafe UInt64(littleEndian: text.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    /// Whether the shortest repetition begins here.
    @inline(__always)
    private static func isRepeated(_ text: UnsafeRawBufferPointer, _ position: Int, _ distance: Int) -> Bool {
        let difference = unsafe key(text, position) ^ key(text, position - distance)
        return difference << UInt64(8 * (keyBytes - shortest)) == 0
    }

    /// The number of equal bytes at two positions, at most ``longest``.
    private static func matchLength(_ text: UnsafeRawBufferPointer, _ later: Int, _ earlier: Int) -> Int {
        let limit = min(longest, text.count - later)
        var length = 0
        while length + keyBytes <= limit {
            let difference = unsafe key(text, later + length) ^ key(text, earlier + length)
            if difference != 0 { return length + difference.trailingZeroBitCount / 8 }
            length += keyBytes
        }
        while length < limit, unsafe text[later + length] == text[earlier + length] { length += 1 }
        return length
    }

    /// The last position of the same 8 bytes, if it is in the window; `position` takes its place.
    private static func exchange(
        _ text: UnsafeRawBufferPointer, _ position: Int, _ places: UnsafeMutableBufferPointer<Int32>
    ) -> Int? {
        let key = unsafe key(text, position)
        // The golden ratio spreads keys evenly (Knuth, volume 3, section 6.4).
        let place = Int((key &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 - placeBits))
        let earlier = unsafe Int(places[place])
        unsafe places[place] = Int32(position)
        guard earlier >= 0, position - earlier <= windowBytes else { return nil }
        return unsafe Self.key(text, earlier) == key ? earlier : nil
    }

    private static func lastQuote(_ text: UnsafeRawBufferPointer, _ first: Int, _ last: Int) -> Int? {
        var position = last
        while position >= first {
            if unsafe text[position] == quote { return position }
            position -= 1
        }
        return nil
    }
}
