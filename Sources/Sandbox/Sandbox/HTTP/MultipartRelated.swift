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
