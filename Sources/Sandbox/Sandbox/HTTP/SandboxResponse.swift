import FoundationEssentials

/// The response to a ``SandboxRequest``.
public struct SandboxResponse: Sendable {
    /// The content after the headers.
    public enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a file: `count` bytes from `offset`.
        case file(path: String, offset: Int, count: Int)
        /// `count` bytes, which `read` returns piece by piece, followed by empty pieces; the bytes may end too early.
        case stream(read: @Sendable (_ upTo: Int) throws -> ArraySlice<UInt8>, count: Int)
        /// No bytes, although `Content-Length` announces this many: a response to HEAD.
        case announced(Int)
    }

    /// HTTP status.
    public var status: Int
    /// Headers without `Content-Length`, which is derived from the body.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: Body
    /// The value that the body represents, with its members in order; `nil` if the body was not created from JSON.
    private(set) var bodyJSON: JSONValue?
    /// Send only this many bytes of the body, although `Content-Length` announces all, then close.
    public var truncateAfterBytes: Int?
    /// Send nothing and close the connection.
    public var isCut = false
    /// Flip a bit of the body's byte at this offset.
    public var corruptAtByte: Int?

    /// Creates a response with bytes.
    public init(_ status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// Creates a response with indented JSON.
    public init(_ status: Int, json: JSONValue, headers: [(name: String, value: String)] = []) {
        let type = (name: "Content-Type", value: "application/json; charset=UTF-8")
        self.init(status, headers: [type] + headers, body: json.bytes(isPretty: true) + [0x0a])
        bodyJSON = json
    }

    /// Creates a response with entries as indented JSON.
    init(_ status: Int, entries: some Encodable) throws {
        self.init(
            status, headers: [("Content-Type", "application/json; charset=UTF-8")],
            body: try EntryJSON.bytes(of: entries) + [0x0a])
    }

    /// Creates a response with a part of a file.
    public init(
        _ status: Int, headers: [(name: String, value: String)], file path: String, offset: Int, count: Int
    ) {
        self.status = status
        self.headers = headers
        body = .file(path: path, offset: offset, count: count)
    }

    /// Creates a response with a body from another server.
    init(
        _ status: Int, headers: [(name: String, value: String)],
        stream read: @escaping @Sendable (_ upTo: Int) throws -> ArraySlice<UInt8>, count: Int
    ) {
        self.status = status
        self.headers = headers
        body = .stream(read: read, count: count)
    }

    /// Creates a response to HEAD.
    init(_ status: Int, headers: [(name: String, value: String)], announcing count: Int) {
        self.status = status
        self.headers = headers
        body = .announced(count)
    }

    /// Closes the connection without a response.
    static var cut: SandboxResponse {
        var response = SandboxResponse(444)
        response.isCut = true
        return response
    }

    /// The number of bytes in the body, before any truncation.
    public var contentLength: Int {
        switch body {
        case .bytes(let bytes): bytes.count
        case .file(_, _, let count), .stream(_, let count), .announced(let count): count
        }
    }

    /// The value of a header, for tests and logs.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// The `Range` header of a download (RFC 9110 section 14.2): one range of bytes.
enum ByteRange: Equatable {
    /// No usable `Range`: the whole content is sent with 200. Multiple ranges count as none.
    case whole
    /// Offsets of the first and last byte, both inside the content.
    case part(first: Int, last: Int)
    /// The range begins beyond the end: 416.
    case unsatisfiable

    /// The range that `header` requests from contents of `length` bytes.
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

/// Media types by file name extension, for providers that store none.
enum MediaType {
    static func guess(_ name: String) -> String {
        switch name.lowercased().split(separator: ".").last {
        case "jpg", "jpeg": "image/jpeg"
        case "png": "image/png"
        case "gif": "image/gif"
        case "txt", "url": "text/plain; charset=utf-8"
        case "json": "application/json"
        default: "application/octet-stream"
        }
    }
}

/// Times in headers and properties (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    static func text(_ date: Date) -> String {
        // 1994-11-06T08:49:37Z
        let words = date.formatted(Date.ISO8601FormatStyle()).split { "-T:Z".contains($0) }
        let day = days[((date.unixSeconds / 86_400) % 7 + 7) % 7]
        return
            "\(day), \(words[2]) \(months[(Int(words[1]) ?? 1) - 1]) \(words[0]) \(words[3]):\(words[4]):\(words[5]) GMT"
    }
}
