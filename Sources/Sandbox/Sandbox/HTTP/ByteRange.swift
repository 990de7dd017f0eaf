/// The `Range` header of a download (RFC 9110 section 14.2): one range of bytes.
enum ByteRange: Equatable {
    /// No usable `Range`: the whole content is sent with 200. Multiple ranges count as none.
    case whole
    /// Offsets of the first and last byte, both inside the content.
    case part(first: Int, last: Int)
    /// The range begins beyond the end: 416.
    case unsatisfiable

    /// The range that `header` requests of a content of `length` bytes.
    init(_ header: String?, length: Int) {
        guard let header, header.hasPrefix("bytes="), !header.contains(",") else {
            self = .whole
            return
        }
        let ends = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2 else {
            self = .whole
            return
        }
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, _) where ends[1].isEmpty:
            self = first < length ? .part(first: first, last: length - 1) : .unsatisfiable
        case (nil, let suffix?) where ends[0].isEmpty:
            self = suffix > 0 && length > 0 ? .part(first: max(0, length - suffix), last: length - 1) : .unsatisfiable
        case (let first?, let last?) where first <= last:
            self = first < length ? .part(first: first, last: min(last, length - 1)) : .unsatisfiable
        default: self = .whole
        }
    }
}

/// The `Content-Range` header of an upload: `bytes FIRST-LAST/TOTAL` or `bytes */TOTAL`, with `*` for an unknown total.
struct ContentRange: Equatable {
    /// Offsets of the first and last byte sent; `nil` in a status query.
    let bytes: ClosedRange<Int>?
    /// Total size, if known.
    let total: Int?

    /// The parsed header; `nil` if it is malformed or contradicts itself.
    init?(_ header: String) {
        guard header.hasPrefix("bytes ") else { return nil }
        let halves = header.dropFirst(6).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[1] == "*" {
            total = nil
        } else {
            guard let number = Int(halves[1]), number >= 0 else { return nil }
            total = number
        }
        if halves[0] == "*" {
            bytes = nil
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), let last = Int(ends[1]), first >= 0, first <= last,
            total.map({ last < $0 }) ?? true
        else { return nil }
        bytes = first...last
    }
}
