/// A body of the type `multipart` (RFC 2046, section 5.1): parts with headers, between boundaries.
///
/// Parsed strictly: the line break before a delimiter belongs to the delimiter. Either all lines end in CR LF or all
/// end in LF, as Google's own Python client sends them.
struct MultipartBody {
    /// The parts in order; names of headers in lower case.
    let parts: [(headers: [String: String], content: ArraySlice<UInt8>)]

    /// What is wrong with a body.
    struct Malformed: Error, Equatable {
        let message: String
    }

    /// Parses a body.
    /// - Parameters:
    ///   - subtype: `related` or `form-data`.
    ///   - header: the value of `Content-Type`.
    init(_ subtype: String, contentType header: String, body: [UInt8]) throws(Malformed) {
        let frame = try MultipartFrame(subtype, contentType: header, start: body)
        var position = frame.firstPart
        var parts: [(headers: [String: String], content: ArraySlice<UInt8>)] = []
        while !frame.isClosed(at: position, in: body) {
            guard let end = frame.nextDelimiter(in: body, from: position) else {
                throw Malformed(message: "the closing boundary is missing")
            }
            let (headers, content) = try frame.headers(in: body, from: position, to: end)
            parts.append((headers, body[min(content, end)..<end]))
            position = end + frame.delimiter.count
        }
        self.parts = parts
    }
}

/// The delimiters between the parts of a `multipart` body. Positions are those after a boundary.
struct MultipartFrame {
    let lineBreak: [UInt8]
    /// The line break before a boundary, and the boundary.
    let delimiter: [UInt8]
    /// The position after the first boundary.
    let firstPart: Int

    typealias Malformed = MultipartBody.Malformed

    /// - Parameter body: the body, or its beginning.
    init(_ subtype: String, contentType header: String, start body: [UInt8]) throws(Malformed) {
        guard header.lowercased().hasPrefix("multipart/\(subtype)"), let boundary = Self.boundary(header) else {
            throw Malformed(message: "Content-Type is not multipart/\(subtype) with a boundary")
        }
        let opening = Array("--\(boundary)".utf8)
        guard body.starts(with: opening) else {
            throw Malformed(message: "the body does not begin with the boundary")
        }
        firstPart = opening.count
        lineBreak = firstPart < body.count && body[firstPart] == 0x0a ? [0x0a] : [0x0d, 0x0a]
        delimiter = lineBreak + opening
    }

    /// Whether a boundary is the last one.
    func isClosed(at position: Int, in body: [UInt8]) -> Bool { body[position...].starts(with: "--".utf8) }

    /// The headers of a part, names in lower case, and the position of its content: after `end` if it has none.
    /// - Parameter end: the position of the next delimiter.
    func headers(
        in body: [UInt8], from boundary: Int, to end: Int
    ) throws(Malformed) -> (headers: [String: String], content: Int) {
        guard body[boundary...].starts(with: lineBreak) else {
            throw Malformed(message: "no line break follows the boundary")
        }
        var headers: [String: String] = [:]
        var position = boundary + lineBreak.count
        while true {
            guard let lineEnd = Self.find(lineBreak, in: body, from: position), lineEnd <= end else {
                throw Malformed(message: "a part's headers do not end with an empty line")
            }
            if lineEnd == position { return (headers, position + lineBreak.count) }
            let halves = String(decoding: body[position..<lineEnd], as: UTF8.self).split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { throw Malformed(message: "a part has a header without a colon") }
            headers[halves[0].lowercased()] = String(halves[1].drop { $0 == " " })
            position = lineEnd + lineBreak.count
        }
    }

    /// The position of the next delimiter, at `start` or after it.
    func nextDelimiter(in body: [UInt8], from start: Int) -> Int? { Self.find(delimiter, in: body, from: start) }

    private static func boundary(_ header: String) -> String? {
        for parameter in header.split(separator: ";").dropFirst() {
            let halves = parameter.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, halves[0].filter({ $0 != " " }).lowercased() == "boundary" else { continue }
            var value = halves[1]
            while value.last == " " { value.removeLast() }
            if value.hasPrefix("\""), value.hasSuffix("\""), value.count > 2 { value = value.dropFirst().dropLast() }
            return value.isEmpty ? nil : String(value)
        }
        return nil
    }

    /// The offset of the first occurrence of `pattern`, at `start` or after it (Boyer-Moore-Horspool: most bytes of a
    /// photograph are never examined).
    private static func find(_ pattern: [UInt8], in body: [UInt8], from start: Int) -> Int? {
        let last = pattern.count - 1
        // For each value of the byte at the pattern's end: the distance to the next possible match.
        var steps = [Int](repeating: pattern.count, count: 256)
        for (offset, byte) in pattern.dropLast().enumerated() { steps[Int(byte)] = last - offset }
        var position = start
        while position + last < body.count {
            let end = body[position + last]
            if end == pattern[last], body[position...position + last].elementsEqual(pattern) { return position }
            position += steps[Int(end)]
        }
        return nil
    }
}

/// A `multipart/related` upload (RFC 2387) of exactly two parts: metadata as JSON, then the bytes of a file.
///
/// The metadata and the second part's headers are read at once, the file's bytes as they arrive.
struct MultipartRelated {
    /// The maximum size of the metadata and the headers together.
    static let largestFrame = 65_536

    /// The JSON of the first part.
    let metadata: [UInt8]
    /// Media type of the second part.
    let contentType: String?

    typealias Malformed = MultipartBody.Malformed

    private let body: RequestBody
    private let frame: MultipartFrame
    /// The bytes of the second part's content, and of what follows it, that have arrived.
    private var arrived: [UInt8]

    /// Reads up to the second part's content.
    /// - Parameter header: the value of `Content-Type`.
    /// - Throws: ``Malformed``, ``RequestBodyError/cut``.
    init(contentType header: String, body: RequestBody) throws {
        var start = [UInt8](repeating: 0, count: Self.largestFrame)
        var filled = 0
        try body.fill(&start, filled: &filled)
        start.removeLast(start.count - filled)
        let frame = try MultipartFrame("related", contentType: header, start: start)
        guard let end = frame.nextDelimiter(in: start, from: frame.firstPart) else {
            throw Malformed(message: "the first part does not end")
        }
        let first = try frame.headers(in: start, from: frame.firstPart, to: end)
        let type = first.headers["content-type"]?.prefix { $0 != ";" }.lowercased()
        guard type == "application/json" else {
            throw Malformed(message: "the first part is \(type ?? "of no type"), not application/json")
        }
        let second = end + frame.delimiter.count
        guard !frame.isClosed(at: second, in: start) else { throw Malformed(message: "the body has one part, not two") }
        let headers = try frame.headers(in: start, from: second, to: start.count)
        metadata = Array(start[min(first.content, end)..<end])
        contentType = headers.headers["content-type"]
        self.body = body
        self.frame = frame
        // The line break of the empty line may also belong to the delimiter.
        let emptyLine = headers.content - frame.lineBreak.count
        let isEmpty = start[emptyLine...].starts(with: frame.delimiter)
        arrived = Array(start[(isEmpty ? emptyLine : headers.content)...])
    }

    /// Reads the second part's content, and the rest of the body.
    /// - Parameter store: stores each piece.
    /// - Throws: ``Malformed``, ``RequestBodyError/cut``, and the errors of `store`.
    mutating func readContent(store: (ArraySlice<UInt8>) throws -> Void) throws {
        var piece = [UInt8](repeating: 0, count: ContentWriter.pieceBytes)
        while true {
            if let end = frame.nextDelimiter(in: arrived, from: 0) {
                if end > 0 { try store(arrived[..<end]) }
                arrived.removeFirst(end + frame.delimiter.count)
                break
            }
            // The delimiter may begin in the last bytes.
            let certain = max(0, arrived.count - frame.delimiter.count + 1)
            if certain > 0 { try store(arrived[..<certain]) }
            arrived.removeFirst(certain)
            guard try read(&piece) else { throw Malformed(message: "the closing boundary is missing") }
        }
        if arrived.count < 2 { _ = try read(&piece) }
        guard frame.isClosed(at: 0, in: arrived) else { throw Malformed(message: "the body has more than two parts") }
        try body.drain()
    }

    /// Reads at most one more piece.
    /// - Returns: `false` at the end of the body.
    private mutating func read(_ piece: inout [UInt8]) throws -> Bool {
        var filled = 0
        try body.fill(&piece, filled: &filled)
        arrived += piece[..<filled]
        return filled > 0
    }
}
