/// OneDrive's `quickXorHash` over bytes that arrive piece by piece.
///
/// The hash has 160 bits. Byte *i* of the input changes the eight bits that begin at bit 11 · *i*, modulo 160; at the
/// end the length is mixed into the last eight bytes (Microsoft Graph, "Code snippets: QuickXorHash Algorithm"). It
/// detects accidental damage, but is not secure against attackers.
///
/// Since 11 and 160 have no common divisor, the bit positions repeat every 160 bytes, so it suffices to fold the input
/// onto its first 160 bytes, thirty-two bytes at a time.
public struct QuickXorHash: Sendable {
    /// The bit positions repeat after this many bytes.
    private static let periodBytes = 160
    private static let bitsPerByte = 11

    private var folded = Folded()
    private var length: UInt64 = 0

    /// The input, folded onto one period.
    private struct Folded {
        var first = SIMD4<UInt64>()
        var second = SIMD4<UInt64>()
        var third = SIMD4<UInt64>()
        var fourth = SIMD4<UInt64>()
        var fifth = SIMD4<UInt64>()

        /// Folds the bytes of whole periods onto this one; the remainder is ignored.
        mutating func fold(_ bytes: RawSpan) {
            var offset = 0
            let end = bytes.byteCount - bytes.byteCount % QuickXorHash.periodBytes
            while offset < end {
                // Within `bytes`, whose count is at least a period more than `offset`.
                unsafe first ^= bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD4<UInt64>.self)
                unsafe second ^= bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset + 32, as: SIMD4<UInt64>.self)
                unsafe third ^= bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset + 64, as: SIMD4<UInt64>.self)
                unsafe fourth ^= bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset + 96, as: SIMD4<UInt64>.self)
                unsafe fifth ^= bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset + 128, as: SIMD4<UInt64>.self)
                offset += QuickXorHash.periodBytes
            }
        }

        /// Folds one byte onto position `index` of the period.
        mutating func fold(_ byte: UInt8, at index: Int) {
            let word = UInt64(byte) << UInt64(8 * (index % 8))
            let lane = index / 8 % 4
            switch index / 32 {
            case 0: first[lane] ^= word
            case 1: second[lane] ^= word
            case 2: third[lane] ^= word
            case 3: fourth[lane] ^= word
            default: fifth[lane] ^= word
            }
        }

        /// The byte at position `index` of the period.
        subscript(_ index: Int) -> UInt8 {
            let vector =
                switch index / 32 {
                case 0: first
                case 1: second
                case 2: third
                case 3: fourth
                default: fifth
                }
            return UInt8(truncatingIfNeeded: vector[index / 8 % 4] >> UInt64(8 * (index % 8)))
        }
    }

    /// Starts the hash of an empty file.
    public init() {}

    /// Continues a computation.
    /// - Parameters:
    ///   - state: ``state`` of another hash.
    ///   - length: how many bytes that hash had processed.
    /// - Returns: `nil` if the state is invalid.
    public init?(state: [UInt8], length: Int64) {
        guard state.count == Self.periodBytes, let length = UInt64(exactly: length) else { return nil }
        for (index, byte) in state.enumerated() { folded.fold(byte, at: index) }
        self.length = length
    }

    /// The state needed to continue the computation elsewhere, besides the number of bytes added: 160 bytes.
    public var state: [UInt8] { (0..<Self.periodBytes).map { folded[$0] } }

    /// Adds `bytes` to the end of the file.
    public mutating func update(_ bytes: RawSpan) {
        var rest = bytes
        // Up to the start of a period.
        let place = Int(length % UInt64(Self.periodBytes))
        if place > 0 {
            let count = min(rest.byteCount, Self.periodBytes - place)
            fold(rest.extracting(first: count), from: place)
            rest = rest.extracting(droppingFirst: count)
        }
        folded.fold(rest)
        let tail = rest.byteCount % Self.periodBytes
        fold(rest.extracting(last: tail), from: 0)
        length += UInt64(bytes.byteCount)
    }

    private mutating func fold(_ bytes: RawSpan, from place: Int) {
        for index in 0..<bytes.byteCount {
            folded.fold(unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self), at: place + index)
        }
    }

    /// Adds `bytes` to the end of the file.
    public mutating func update(_ bytes: Span<UInt8>) { unsafe update(bytes.bytes) }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: [UInt8]) { unsafe update(bytes.span.bytes) }

    /// Adds `bytes` to the end of the file.
    public mutating func update(_ bytes: ArraySlice<UInt8>) { unsafe update(bytes.span.bytes) }

    /// The hash of everything added, as 20 raw bytes; more may be added afterwards.
    public func digest() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        for index in 0..<Self.periodBytes {
            let bit = index * Self.bitsPerByte % 160
            let byte = UInt16(folded[index]) << UInt16(bit % 8)
            digest[bit / 8] ^= UInt8(truncatingIfNeeded: byte)
            digest[(bit / 8 + 1) % 20] ^= UInt8(truncatingIfNeeded: byte >> 8)
        }
        for index in 0..<8 { digest[12 + index] ^= UInt8(truncatingIfNeeded: length >> UInt64(8 * index)) }
        return digest
    }
}
