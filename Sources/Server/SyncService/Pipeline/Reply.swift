import Gzip
import SyncProtocol

/// A successful reply, or one that the endpoint has already sent.
enum EndpointReply {
    /// A JSON object as the body. `isStale`: it reports that the request's master version is not the current one.
    case json([UInt8], isStale: Bool = false)
    /// A JSON object in the header `syncserver-message-params`, and no body.
    case header(String, isStale: Bool = false, status: Int = 200)
    /// Neither an object nor a body.
    case empty(status: Int)
    /// The client's state is still current (304); no body.
    case notModified
    /// A complete stream of events.
    case events([UInt8])
    /// The web server answers instead, in one of its internal locations.
    case elsewhere(location: String)
    /// The endpoint has sent its reply itself, with this many bytes of body.
    case sent(bytes: Int64, status: Int = 200)

    static func json(_ message: some ResponseMessage) -> EndpointReply {
        .json(message.body, isStale: message.isStale)
    }
    static func header(_ message: some ResponseMessage, status: Int = 200) -> EndpointReply {
        .header(message.headerText, isStale: message.isStale, status: status)
    }
}

/// A JSON reply that is sent while it is being written.
///
/// There is one buffer. While the phone keeps up, it never holds more than a chunk. When the phone falls behind, no
/// thread waits for it while a database connection is held: the text, in the worst case all of it, remains in the
/// buffer until ``finish(_:)`` sends the rest.
///
/// The beginning of a reply can be compressed, up to ``endCompression(_:)``. The rest then follows in the same encoding,
/// but uncompressed: if texts of different people were compressed together, the length of a reply would show to an
/// observer whether they have something in common (docs/threat-model.md).
struct ReplyStream: ~Copyable {
    /// Bytes sent at a time; see ``ClientConnection/canWriteWithoutWaiting``.
    private static let chunkBytes = 64 * 1024
    /// The same for compressed bytes.
    private static let compressedChunkBytes = 16 * 1024
    /// A shorter beginning is not compressed.
    private static let shortestCompressed = 1_024

    private let connection: any ClientConnection
    private let headers: [(name: String, value: String)]
    /// Whether the reply is compressed, as far as is known.
    private var isCompressed: Bool
    /// Nil until the first text is compressed.
    private var gzip: GzipStream?
    /// How much of the buffer has been sent: of the text, or of its compressed form.
    private var sentBytes = 0
    private var failure: ClientGone?
    /// Whether the head has been sent, so that no other reply is possible.
    private(set) var hasStarted = false
    private(set) var totalBytes: Int64 = 0

    /// - Parameters:
    ///   - headers: all of the reply's headers, except that of the encoding.
    ///   - isCompressed: whether the client accepts gzip.
    init(on connection: any ClientConnection, headers: [(name: String, value: String)], isCompressed: Bool = false) {
        self.connection = connection
        self.headers = headers
        self.isCompressed = isCompressed
    }

    /// The header that states the encoding of the reply.
    var encodingHeaders: [(name: String, value: String)] { isCompressed ? [("content-encoding", "gzip")] : [] }

    /// Sends the complete chunks in the buffer, as far as possible without blocking. If the phone has disconnected, the
    /// text is discarded.
    mutating func offer(_ json: inout JSONWriter) {
        if isCompressed {
            if json.bytes.count >= Self.chunkBytes { compress(&json) }
            return
        }
        guard json.bytes.count - sentBytes >= Self.chunkBytes else { return }
        while json.bytes.count - sentBytes >= Self.chunkBytes, failure == nil, connection.canWriteWithoutWaiting {
            do { try send(sentBytes..<sentBytes + Self.chunkBytes, of: json.bytes.span) } catch { failure = error }
        }
        if failure != nil { sentBytes = json.bytes.count }
        guard sentBytes == json.bytes.count || sentBytes > 0 && json.bytes.count - sentBytes < Self.chunkBytes else {
            return
        }
        json.dropFirst(sentBytes)
        sentBytes = 0
    }

    /// Compresses the text in the buffer, and sends the result as far as possible without blocking.
    private mutating func compress(_ json: inout JSONWriter) {
        var stream = gzip.take() ?? GzipStream()
        json.drain { stream.append($0.span) }
        while stream.output.count - sentBytes >= Self.compressedChunkBytes, failure == nil,
            connection.canWriteWithoutWaiting
        {
            let end = sentBytes + min(Self.chunkBytes, stream.output.count - sentBytes)
            do { try send(sentBytes..<end, of: stream.output.span) } catch { failure = error }
        }
        stream.output.removeSubrange(..<(failure == nil ? sentBytes : stream.output.count))
        sentBytes = 0
        gzip = consume stream
    }

    /// Compresses what is in the buffer, but nothing after it. A short reply is not compressed at all.
    mutating func endCompression(_ json: inout JSONWriter) {
        guard isCompressed else { return }
        isCompressed = gzip != nil || json.bytes.count >= Self.shortestCompressed
        if isCompressed { compress(&json) }
    }

    /// The body of a reply of which nothing has been sent.
    mutating func wholeBody(_ json: JSONWriter) -> [UInt8] {
        guard var stream = gzip.take() else { return json.bytes }
        stream.store(json.bytes.span)
        stream.finish()
        return stream.output
    }

    /// Sends the rest, waiting for the phone. Call when no database connection is held anymore.
    mutating func finish(_ json: JSONWriter) throws(ClientGone) {
        if let failure { throw failure }
        let rest = wholeBody(json)
        try send(sentBytes..<rest.count, of: rest.span)
    }

    private mutating func send(_ range: Range<Int>, of bytes: Span<UInt8>) throws(ClientGone) {
        if !hasStarted {
            hasStarted = true
            try connection.start(status: 200, headers: headers + encodingHeaders)
        }
        try connection.write(bytes.extracting(range))
        sentBytes = range.upperBound
        totalBytes += Int64(range.count)
    }
}

/// A reply that has begun cannot be completed; it must be cut off so that no client mistakes it for a complete reply.
struct ReplyInterrupted: Error {
    var reason: String
}

/// An error reply as it goes over the wire, except for its length.
struct ErrorReply {
    private static let problemType = "application/problem+json"

    var status: Int
    /// All headers except `content-length`.
    var headers: [(name: String, value: String)]
    /// One line of JSON.
    var body: [UInt8]
    /// Whether its content type is that of problem details.
    var isProblem: Bool

    /// - Parameter accept: the request's header of that name.
    init(
        _ refusal: Refusal, requestID: String?, accept: String?,
        commonHeaders: [(name: String, value: String)]
    ) {
        isProblem = accept.map(Self.namesProblemType) ?? false
        status = refusal.status
        body = refusal.body(requestID: requestID, isProblem: isProblem).body
        headers = commonHeaders
        headers.append((name: "content-type", value: isProblem ? Self.problemType : "application/json"))
        headers.append((name: ResponseHeader.errorCode.rawValue, value: refusal.code.rawValue))
        if let method = refusal.allowedMethod { headers.append((name: "allow", value: method)) }
        if let offset = refusal.uploadOffset {
            headers.append((name: ResponseHeader.uploadOffset.rawValue, value: "\(offset)"))
        }
        if let length = refusal.lengthOfWhole { headers.append((name: "content-range", value: "bytes */\(length)")) }
        if let type = refusal.activeAccountType {
            headers.append((name: ResponseHeader.activeAccountType.rawValue, value: type.rawValue))
        }
        if let delay = refusal.retryAfterSeconds { headers.append((name: "retry-after", value: "\(delay)")) }
    }

    /// Whether an `Accept` header names the media type of problem details (RFC 9457) explicitly. Deployed clients send
    /// `*/*`, and get the format that they know.
    private static func namesProblemType(_ accept: String) -> Bool {
        accept.split(separator: ",").contains { range in
            let type = range.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
            return type.lowercased() == problemType
        }
    }
}
