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
struct ReplyStream {
    /// Bytes sent at a time; see ``ClientConnection/canWriteWithoutWaiting``.
    private static let chunkBytes = 64 * 1024

    private let connection: any ClientConnection
    private let headers: [(name: String, value: String)]
    /// How much of the text in the buffer has been sent.
    private var sentBytes = 0
    private var failure: ClientGone?
    /// Whether the head has been sent, so that no other reply is possible.
    private(set) var hasStarted = false
    private(set) var totalBytes: Int64 = 0

    /// - Parameter headers: all of the reply's headers.
    init(on connection: any ClientConnection, headers: [(name: String, value: String)]) {
        self.connection = connection
        self.headers = headers
    }

    /// Sends the complete chunks in the buffer, as far as possible without blocking. If the phone has disconnected, the
    /// text is discarded.
    mutating func offer(_ json: inout JSONWriter) {
        guard json.bytes.count - sentBytes >= Self.chunkBytes else { return }
        while json.bytes.count - sentBytes >= Self.chunkBytes, failure == nil, connection.canWriteWithoutWaiting {
            do { try send(sentBytes..<sentBytes + Self.chunkBytes, of: json) } catch { failure = error }
        }
        if failure != nil { sentBytes = json.bytes.count }
        guard sentBytes == json.bytes.count || sentBytes > 0 && json.bytes.count - sentBytes < Self.chunkBytes else {
            return
        }
        json.dropFirst(sentBytes)
        sentBytes = 0
    }

    /// Sends the rest, waiting for the phone. Call when no database connection is held anymore.
    mutating func finish(_ json: JSONWriter) throws(ClientGone) {
        if let failure { throw failure }
        try send(sentBytes..<json.bytes.count, of: json)
    }

    private mutating func send(_ range: Range<Int>, of json: JSONWriter) throws(ClientGone) {
        if !hasStarted {
            hasStarted = true
            try connection.start(status: 200, headers: headers)
        }
        try connection.write(json.bytes.span.extracting(range))
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
        body =
            ErrorBody(
                error: refusal.message, code: refusal.code.rawValue, requestId: requestID ?? "-",
                retryable: refusal.code.isRetryable, goneReason: refusal.goneReason, switchId: refusal.switchID,
                usableFrom: refusal.usableFrom, undoUntil: refusal.undoUntil, status: refusal.status,
                isProblem: isProblem
            ).body
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
        if let delay = refusal.retryAfter {
            headers.append((name: "retry-after", value: "\(max(1, Self.wholeSeconds(delay)))"))
        }
    }

    /// Rounded up, since a slightly early retry would be rejected again.
    private static func wholeSeconds(_ delay: Duration) -> Int64 {
        delay.components.seconds + (delay.components.attoseconds > 0 ? 1 : 0)
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
