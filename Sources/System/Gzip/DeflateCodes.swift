// The symbols and codes of a block with dynamic Huffman codes (RFC 1951, section 3.2).

/// A byte, or a repetition of earlier text.
struct Token: Sendable {
    private let value: UInt32

    /// Byte by itself.
    static func literal(_ byte: UInt8) -> Token { Token(value: UInt32(byte)) }
    /// `length` bytes, 3 to 258, from `distance` bytes back, 1 to 32,768.
    static func match(length: Int, distance: Int) -> Token {
        Token(value: 1 << 31 | UInt32(truncatingIfNeeded: length) << 16 | UInt32(truncatingIfNeeded: distance - 1))
    }

    var isMatch: Bool { value >= 1 << 31 }
    var byte: UInt8 { UInt8(truncatingIfNeeded: value) }
    var length: Int { Int(value >> 16 & 0x1FF) }
    var distance: Int { Int(value & 0x7FFF) + 1 }
}

/// A number as a symbol and bits that follow its code.
struct ExtendedSymbol {
    var symbol: Int
    var extra: Int
    var extraBits: Int

    /// For 3 to 258 bytes; the symbol counts from 257.
    init(length: Int) {
        let value = length - 3
        if value < 8 || value == 255 {
            self.init(symbol: value == 255 ? 28 : value, extra: 0, extraBits: 0)
        } else {
            self.init(value, leadingBits: 2)
        }
    }

    /// For 1 to 32,768 bytes.
    init(distance: Int) {
        let value = distance - 1
        if value < 4 { self.init(symbol: value, extra: 0, extraBits: 0) } else { self.init(value, leadingBits: 1) }
    }

    private init(symbol: Int, extra: Int, extraBits: Int) {
        (self.symbol, self.extra, self.extraBits) = (symbol, extra, extraBits)
    }

    /// The highest bit and those after it select the symbol; the others are extra.
    private init(_ value: Int, leadingBits: Int) {
        extraBits = Int.bitWidth - 1 - value.leadingZeroBitCount - leadingBits
        extra = value & ((1 << extraBits) - 1)
        symbol = extraBits << leadingBits + value >> extraBits
    }
}

/// The code of one symbol, with its first bit lowest, or none.
struct SymbolCode {
    var bits: UInt64 = 0
    var count = 0

    /// The code with the extra bits after it.
    func followed(by symbol: ExtendedSymbol) -> SymbolCode {
        SymbolCode(bits: bits | UInt64(symbol.extra) &<< UInt64(count), count: count + symbol.extraBits)
    }
}

/// The codes of a block.
struct BlockCodes {
    private static let longestCode = 15
    private static let longestCodeOfLength = 7
    /// The order in which the header gives the codes for code lengths.
    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    let lengths: [SymbolCode]
    let distances: [SymbolCode]
    /// The bits of the block with its header.
    let totalBits: Int
    private let header: [(symbol: Int, extra: Int, extraBits: Int)]
    private let headerCodes: [SymbolCode]
    private let codeLengthCount: Int

    init(_ tokens: [Token]) {
        // Bytes, the end of the block, lengths; distances.
        var lengthCounts = [Int](repeating: 0, count: 286)
        var distanceCounts = [Int](repeating: 0, count: 30)
        lengthCounts[256] = 1
        var extraBits = 0
        for token in tokens {
            guard token.isMatch else {
                lengthCounts[Int(token.byte)] += 1
                continue
            }
            let length = ExtendedSymbol(length: token.length)
            let distance = ExtendedSymbol(distance: token.distance)
            lengthCounts[257 + length.symbol] += 1
            distanceCounts[distance.symbol] += 1
            extraBits += length.extraBits + distance.extraBits
        }
        let lengths = Self.codeLengths(lengthCounts, longest: Self.longestCode)
        let distances = Self.codeLengths(distanceCounts, longest: Self.longestCode)
        self.lengths = Self.codes(lengths)
        self.distances = Self.codes(distances)
        // All symbols are listed, so that both counts in the header are constant.
        header = Self.runs(lengths + distances)
        var headerCounts = [Int](repeating: 0, count: 19)
        for run in header { headerCounts[run.symbol] += 1 }
        let headerLengths = Self.codeLengths(headerCounts, longest: Self.longestCodeOfLength)
        headerCodes = Self.codes(headerLengths)
        codeLengthCount = max(4, 1 + (Self.order.lastIndex { headerLengths[$0] > 0 } ?? 0))
        totalBits =
            17 + 3 * codeLengthCount + extraBits
            + header.reduce(0) { $0 + headerLengths[$1.symbol] + $1.extraBits }
            + zip(lengthCounts, lengths).reduce(0) { $0 + $1.0 * $1.1 }
            + zip(distanceCounts, distances).reduce(0) { $0 + $1.0 * $1.1 }
    }

    /// Writes the block: header, tokens, end.
    func write(_ tokens: [Token], _ bits: inout BitWriter, _ output: inout [UInt8]) {
        writeHeader(&bits, &output)
        bits.write(atMost: totalBits, to: &output) { writer in
            for token in tokens {
                guard token.isMatch else {
                    writer.write(lengths[Int(token.byte)])
                    continue
                }
                let length = ExtendedSymbol(length: token.length)
                let distance = ExtendedSymbol(distance: token.distance)
                writer.write(lengths[257 + length.symbol].followed(by: length))
                writer.write(distances[distance.symbol].followed(by: distance))
            }
            writer.write(lengths[256])
        }
    }

    private func writeHeader(_ bits: inout BitWriter, _ output: inout [UInt8]) {
        bits.write(0b100, 3, to: &output)
        bits.write(286 - 257, 5, to: &output)
        bits.write(30 - 1, 5, to: &output)
        bits.write(UInt64(codeLengthCount - 4), 4, to: &output)
        for symbol in Self.order.prefix(codeLengthCount) {
            bits.write(UInt64(headerCodes[symbol].count), 3, to: &output)
        }
        for run in header {
            bits.write(headerCodes[run.symbol].bits, headerCodes[run.symbol].count, to: &output)
            bits.write(UInt64(run.extra), run.extraBits, to: &output)
        }
    }

    /// Huffman's code lengths; 0 for symbols that do not occur. At least two symbols get a code, as decoders expect.
    private static func codeLengths(_ counts: [Int], longest: Int) -> [Int] {
        var counts = counts
        for symbol in 0..<2 where counts.count(where: { $0 > 0 }) < 2 && counts[symbol] == 0 { counts[symbol] = 1 }
        while true {
            let lengths = unlimitedCodeLengths(counts)
            if lengths.allSatisfy({ $0 <= longest }) { return lengths }
            // Smaller differences make the longest codes shorter.
            counts = counts.map { $0 == 0 ? 0 : $0 / 2 + 1 }
        }
    }

    private static func unlimitedCodeLengths(_ counts: [Int]) -> [Int] {
        let leaves = counts.indices.filter { counts[$0] > 0 }.sorted { counts[$0] < counts[$1] }
        // Leaves, then inner nodes, both in ascending order of their counts; a parent comes after its children.
        var weights = leaves.map { counts[$0] }
        var parents = [Int](repeating: 0, count: 2 * leaves.count - 1)
        var (leaf, inner) = (0, leaves.count)
        while weights.count < parents.count {
            var weight = 0
            for _ in 0..<2 {
                let isLeaf = leaf < leaves.count && (inner == weights.count || weights[leaf] <= weights[inner])
                let child = isLeaf ? leaf : inner
                if isLeaf { leaf += 1 } else { inner += 1 }
                weight += weights[child]
                parents[child] = weights.count
            }
            weights.append(weight)
        }
        var depths = [Int](repeating: 0, count: parents.count)
        for node in parents.indices.dropLast().reversed() { depths[node] = depths[parents[node]] + 1 }
        var lengths = [Int](repeating: 0, count: counts.count)
        for (node, symbol) in leaves.enumerated() { lengths[symbol] = depths[node] }
        return lengths
    }

    /// The canonical codes (section 3.2.2), with their bits reversed.
    private static func codes(_ lengths: [Int]) -> [SymbolCode] {
        var next = [UInt64](repeating: 0, count: longestCode + 2)
        for length in lengths where length > 0 { next[length + 1] += 1 }
        for length in 1...longestCode + 1 { next[length] = (next[length] + next[length - 1]) << 1 }
        return lengths.map { length in
            guard length > 0 else { return SymbolCode() }
            defer { next[length] += 1 }
            var code = SymbolCode(count: length)
            for bit in 0..<length { code.bits |= (next[length] >> UInt64(length - 1 - bit) & 1) << UInt64(bit) }
            return code
        }
    }

    /// Code lengths as symbols: 0 to 15 for themselves, 16 repeats the previous one, 17 and 18 are zeros.
    private static func runs(_ lengths: [Int]) -> [(symbol: Int, extra: Int, extraBits: Int)] {
        var runs: [(symbol: Int, extra: Int, extraBits: Int)] = []
        var index = 0
        while index < lengths.count {
            let length = lengths[index]
            let end = lengths[index...].firstIndex { $0 != length } ?? lengths.count
            var count = end - index
            index = end
            if length > 0 {
                runs.append((length, 0, 0))
                count -= 1
            }
            while count >= 3 {
                let part = min(count, length > 0 ? 6 : 138)
                if length > 0 {
                    runs.append((16, part - 3, 2))
                } else {
                    runs.append(part < 11 ? (17, part - 3, 3) : (18, part - 11, 7))
                }
                count -= part
            }
            for _ in 0..<count { runs.append((length, 0, 0)) }
        }
        return runs
    }
}

/// Appends bits to bytes, the lowest first.
struct BitWriter {
    private var bits: UInt64 = 0
    /// Fewer than 8 between two calls.
    private var count = 0

    /// At most 48 bits; those above `count` must be 0.
    mutating func write(_ bits: UInt64, _ count: Int, to output: inout [UInt8]) {
        self.bits |= bits << UInt64(self.count)
        self.count += count
        while self.count >= 8 {
            output.append(UInt8(truncatingIfNeeded: self.bits))
            self.bits >>= 8
            self.count -= 8
        }
    }

    /// Completes the last byte with zeros.
    mutating func align(_ output: inout [UInt8]) {
        if count > 0 { write(0, 8 - count, to: &output) }
    }

    /// Writes many codes, together at most `totalBits` long.
    mutating func write(atMost totalBits: Int, to output: inout [UInt8], _ write: (inout CodeWriter) -> Void) {
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: totalBits / 8 + 2 * UInt64.bitWidth / 8))
        let used = unsafe output.withUnsafeMutableBytes { bytes in
            var writer = unsafe CodeWriter(bytes: bytes, index: start, bits: bits, count: count)
            write(&writer)
            (bits, count) = (writer.bits, writer.count)
            return writer.index
        }
        output.removeSubrange(used...)
    }

    /// Writes codes in place.
    @safe
    struct CodeWriter {
        private let bytes: UnsafeMutableRawBufferPointer
        fileprivate private(set) var index: Int
        fileprivate private(set) var bits: UInt64
        fileprivate private(set) var count: Int

        fileprivate init(bytes: UnsafeMutableRawBufferPointer, index: Int, bits: UInt64, count: Int) {
            unsafe self.bytes = bytes
            (self.index, self.bits, self.count) = (index, bits, count)
        }

        mutating func write(_ code: SymbolCode) {
            bits |= code.bits &<< UInt64(truncatingIfNeeded: count)
            count &+= code.count
            unsafe precondition(index &+ 8 <= bytes.count)
            unsafe bytes.storeBytes(of: bits.littleEndian, toByteOffset: index, as: UInt64.self)
            index &+= count &>> 3
            bits &>>= UInt64(truncatingIfNeeded: count & ~7)
            count &= 7
        }
    }
}
