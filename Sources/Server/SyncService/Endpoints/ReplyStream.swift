import SyncProtocol

/// A JSON reply that is sent while it is being written.
///
/// There is one buffer. While the phone keeps up, it never holds more than a chunk. When the phone falls behind, no
/// thread waits for it while a database connection is held: the text, in the worst case all of it, stays in the buffer
/// until ``finish(_:)`` sends the rest.
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
