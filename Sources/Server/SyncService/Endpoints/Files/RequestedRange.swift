/// The bytes that a `Range` header asks for (RFC 9110, section 14.1.2).
///
/// One range of bytes. Headers with several ranges, other units or invalid syntax are ignored, as the RFC allows
/// (section 14.2): the reply then has all bytes.
enum RequestedRange: Equatable {
    /// From a position to another or to the end. A last position beyond the end means the end.
    case from(Int64, through: Int64?)
    /// This number of bytes at the end.
    case last(Int64)

    /// `nil` if the header must be ignored.
    init?(_ header: String) {
        let parts = header.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let positions = parts[1].split(separator: "-", omittingEmptySubsequences: false)
        guard positions.count == 2 else { return nil }
        switch (positions[0].isEmpty, positions[1].isEmpty) {
        case (true, true): return nil
        case (true, false):
            guard let length = Self.number(positions[1]) else { return nil }
            self = .last(length)
        case (false, true):
            guard let first = Self.number(positions[0]) else { return nil }
            self = .from(first, through: nil)
        case (false, false):
            guard let first = Self.number(positions[0]), let last = Self.number(positions[1]), first <= last else {
                return nil
            }
            self = .from(first, through: last)
        }
    }

    /// The positions of the first and the last byte in a representation of this length, which must not be 0; `nil` if
    /// the range is not satisfiable.
    func positions(inLength length: Int64) -> ClosedRange<Int64>? {
        switch self {
        case .from(let first, let last):
            first < length ? first...min(last ?? .max, length - 1) : nil
        case .last(let count):
            count > 0 ? max(0, length - count)...(length - 1) : nil
        }
    }

    /// Digits only; a number that is too large for any file counts as the largest one.
    private static func number(_ digits: Substring) -> Int64? {
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(digits) ?? .max
    }
}
