import OpenSSLCrypto

/// One HTTP request to an emulated provider or to the control interface.
public struct SandboxRequest {
    /// Method, in capital letters.
    public let method: String
    /// The `Host` header in lower case, without the port.
    public let host: String
    /// The path as sent, still percent-encoded.
    public let path: String
    /// The query as sent, without `?`.
    public let queryText: String
    /// The decoded query.
    public let query: QueryItems
    /// Address of the peer, as nginx saw it.
    public let peer: String
    /// Whether the request was received over TLS.
    public let isSecure: Bool
    /// The body, read at most once.
    public let body: RequestBody

    private let headers: [String: String]

    /// Creates a request.
    /// - Parameters:
    ///   - target: path and query, as in the request line.
    ///   - host: the `Host` header; a port is removed.
    ///   - headers: names in any letter case.
    public init(
        method: String, host: String, target: String, headers: [(name: String, value: String)] = [],
        peer: String = "127.0.0.1", isSecure: Bool = true, body: RequestBody = RequestBody([])
    ) {
        self.method = method
        self.host = Self.withoutPort(host.lowercased())
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = halves.isEmpty ? "/" : String(halves[0])
        queryText = halves.count == 2 ? String(halves[1]) : ""
        query = QueryItems(queryText)
        self.headers = Dictionary(headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        self.peer = peer
        self.isSecure = isSecure
        self.body = body
    }

    /// All headers with their names in lower case; of repeated ones, the first.
    var allHeaders: [(name: String, value: String)] { headers.map { (name: $0.key, value: $0.value) } }

    /// The value of a header; the name's letter case does not matter.
    public func header(_ name: String) -> String? { headers[name.lowercased()] }

    /// The media type of the body: lower case, without parameters; empty if none is given.
    var mediaType: String {
        let value = header("content-type") ?? ""
        return value.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
    }

    /// The path's segments, decoded; an invalid escape is left unchanged.
    var segments: [String] {
        path.split(separator: "/", omittingEmptySubsequences: true).map {
            PercentEncoding.decode($0, plusIsBlank: false) ?? String($0)
        }
    }

    /// The token of `Authorization: Bearer …`.
    var bearerToken: String? {
        guard let value = header("authorization") else { return nil }
        let words = value.split(separator: " ", maxSplits: 1)
        return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    }

    /// The decoded fields of a form body of at most 64 KiB; `nil` if the body is not a form.
    func readForm() throws(RequestBodyError) -> QueryItems? {
        guard mediaType == "application/x-www-form-urlencoded" else { return nil }
        return QueryItems(String(decoding: try body.readAll(limit: 65_536), as: UTF8.self))
    }

    private static func withoutPort(_ host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
        return String(host.prefix { $0 != ":" })
    }
}

/// Why a request's body could not be read to its end.
public enum RequestBodyError: Error, Equatable {
    /// The client disconnected, or a fault closed the connection.
    case cut
    /// The body exceeds the reader's memory limit.
    case tooLong
}

/// A request's body, read piece by piece, so that a file of any size needs only constant memory.
///
/// Belongs to the one thread that serves the request; faults within a body are applied here.
public final class RequestBody {
    /// Fills the buffer from its start and returns the number of bytes read, which is less than the buffer's size only
    /// at the end of the body.
    public typealias Source = (_ buffer: inout [UInt8]) throws(RequestBodyError) -> Int

    /// Bytes announced by `Content-Length`; `nil` if the length is unknown.
    public let declaredLength: Int?
    /// Bytes read so far.
    public private(set) var receivedBytes = 0
    /// Interrupt the request after this many bytes, or at the end of a shorter body.
    var cutAfterBytes: Int?
    /// Flip a bit of the byte at this offset.
    var corruptAtByte: Int?

    /// Whether the client has disconnected, so that nobody awaits the response; waits for that, two seconds at most.
    public var isClientGone: () -> Bool = { false }
    private let source: Source

    /// A body that `source` delivers.
    public init(declaredLength: Int?, source: @escaping Source) {
        self.declaredLength = declaredLength
        self.source = source
    }

    /// A body that is already in memory.
    public convenience init(_ bytes: [UInt8]) {
        var position = 0
        self.init(declaredLength: bytes.count) { buffer in
            let count = min(buffer.count, bytes.count - position)
            buffer.replaceSubrange(..<count, with: bytes[position..<position + count])
            position += count
            return count
        }
    }

    /// Fills `buffer` from the body.
    /// - Returns: the number of bytes filled from the start of the buffer; less than the buffer's size only at the end
    ///   of the body.
    /// - Throws: ``RequestBodyError/cut``; the bytes that had arrived are in the buffer, and `filled` is their number.
    func fill(_ buffer: inout [UInt8], filled: inout Int) throws(RequestBodyError) {
        filled = 0
        let count = try source(&buffer)
        if let corrupt = corruptAtByte, corrupt >= receivedBytes, corrupt < receivedBytes + count {
            buffer[corrupt - receivedBytes] ^= 1
        }
        receivedBytes += count
        filled = count
        if let limit = cutAfterBytes, count < buffer.count || receivedBytes >= limit {
            filled = max(0, count - max(0, receivedBytes - limit))
            throw .cut
        }
    }

    /// The whole body, which must not be longer than `limit` bytes.
    func readAll(limit: Int) throws(RequestBodyError) -> [UInt8] {
        if let declaredLength, declaredLength > limit { throw .tooLong }
        // For a body of known length, one byte more than that: a single read then reaches its end, and nothing is
        // copied.
        var buffer = [UInt8](repeating: 0, count: min(limit, declaredLength ?? 65_536) + 1)
        var bytes: [UInt8] = []
        var filled = 0
        while true {
            try fill(&buffer, filled: &filled)
            guard filled == buffer.count else { break }
            bytes += buffer
            if bytes.count > limit { throw .tooLong }
        }
        buffer.removeLast(buffer.count - filled)
        if bytes.isEmpty { return buffer }
        bytes += buffer
        if bytes.count > limit { throw .tooLong }
        return bytes
    }

    /// Reads and discards the rest, so that the client can finish sending before it receives its response.
    public func drain() throws(RequestBodyError) {
        if let declaredLength, receivedBytes >= declaredLength { return }
        var buffer = [UInt8](repeating: 0, count: 262_144)
        var filled = 0
        repeat { try fill(&buffer, filled: &filled) } while filled == buffer.count
    }
}

/// Percent-encoding in URLs and forms (RFC 3986 section 2.1, WHATWG URL "application/x-www-form-urlencoded").
enum PercentEncoding {
    /// The percent-decoded text; `nil` if an escape is invalid or the result is not UTF-8.
    /// - Parameter plusIsBlank: `true` in queries and forms, where `+` means a space.
    static func decode(_ text: some StringProtocol, plusIsBlank: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+") where plusIsBlank: bytes.append(0x20)
            case UInt8(ascii: "%"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard let escaped = [UInt8](hexadecimal: digits), escaped.count == 1 else { return nil }
                bytes += escaped
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Escapes everything except unreserved characters.
    static func encode(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            if isUnreserved(byte) {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output += "%" + [byte].hexUppercase
            }
        }
        return output
    }

    /// Letters, digits and `-._~` (RFC 3986, section 2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// The decoded pairs of a query or of a form body, in order.
public struct QueryItems: Sendable, Equatable {
    /// Names and values as received.
    public let items: [Item]

    /// One name and its value; a name without `=` has an empty value.
    public struct Item: Sendable, Equatable {
        /// Decoded name.
        public let name: String
        /// Decoded value.
        public let value: String
    }

    /// Decodes `a=b&c=d`; a pair with invalid escapes is kept unchanged, so that it appears in an error.
    public init(_ text: String) {
        items = text.split(separator: "&", omittingEmptySubsequences: true).map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ half: Substring) -> String {
                PercentEncoding.decode(half, plusIsBlank: true) ?? String(half)
            }
            return Item(name: decoded(halves[0]), value: halves.count == 2 ? decoded(halves[1]) : "")
        }
    }

    /// The value of the first item with that name.
    public subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }
}
