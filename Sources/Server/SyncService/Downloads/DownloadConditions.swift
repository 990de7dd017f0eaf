import SyncProtocol

/// The conditions in a download's headers: send bytes only if they differ from the client's, and send only a range (RFC
/// 9110, sections 13 and 14).
struct DownloadConditions {
    private let ifNoneMatch: String?
    private let ifRange: String?
    private let range: RequestedRange?

    init(_ head: RequestHead) {
        ifNoneMatch = head.header(.ifNoneMatch)
        ifRange = head.header(.ifRange)
        range = head.header(.range).flatMap { RequestedRange($0) }
    }

    /// Whether the request continues an earlier download: it requests a range of the bytes identified by a tag.
    var resumes: Bool { range != nil && ifRange != nil }

    /// Whether the request continues a download of these bytes.
    func resumes(_ tag: EntityTag) -> Bool { range != nil && ifRange == tag.text }

    /// Whether the request is unconditional.
    var isAbsent: Bool { range == nil && ifNoneMatch == nil }

    /// Whether the client has these bytes.
    func isMet(by tag: EntityTag) -> Bool { ifNoneMatch.map { tag.isNamed(by: $0) } ?? false }

    /// The range to send; `nil` for all bytes.
    ///
    /// `If-Range` is compared strongly (section 13.1.5): a weak tag or a date never matches. No range of an empty file
    /// can be expressed, so it is sent as a whole.
    /// - Throws: ``ErrorCode/rangeNotSatisfiable``.
    func positions(of tag: EntityTag, length: Int64) throws -> ClosedRange<Int64>? {
        guard let range, length > 0, ifRange.map({ $0 == tag.text }) ?? true else { return nil }
        guard let positions = range.positions(inLength: length) else {
            throw Refusal.rangeNotSatisfiable(length: length)
        }
        return positions
    }
}

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
