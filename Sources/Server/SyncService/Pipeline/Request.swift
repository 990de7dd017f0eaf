public import SyncProtocol

/// A request without its body.
public struct RequestHead: Sendable {
    public var method: String
    /// The path, decoded.
    public var path: String
    /// The query as it arrived, still percent-encoded.
    public var query: String
    /// The value of `Content-Length`; `nil` without that header.
    public var contentLength: Int64?
    /// The IP address of the client, as the web server saw it; `nil` if it did not report one.
    public var clientAddress: String?
    /// Identifies the request in logs, error replies and the outbox; `nil` if the web server gave it none.
    public var requestID: String?
    /// The result of the sign-in from another role: ``SignInTickets``. Set by the web server, never by a client.
    public var signInTicket: String?
    /// The web server's location that asks the api role whether this transfer may begin; `nil` if it has already asked,
    /// or does not ask.
    public var admissionLocation: String?
    /// The web server's location in which streams of changes begin, followed by the user's number; `nil` if it offers
    /// none.
    public var streamLocation: String?
    /// The address that the client used, without the query; `nil` if the web server did not report it.
    public var address: String?
    /// Whether the web server itself answers all other requests to this host, for maintenance.
    public var isHostClosed: Bool
    private let headers: [RequestHeader: String]

    public init(
        method: String, path: String, query: String, contentLength: Int64?, clientAddress: String? = nil,
        requestID: String?, headers: [RequestHeader: String], signInTicket: String? = nil,
        admissionLocation: String? = nil, streamLocation: String? = nil, address: String? = nil,
        isHostClosed: Bool = false
    ) {
        self.isHostClosed = isHostClosed
        self.address = address
        self.method = method
        self.path = path
        self.query = query
        self.contentLength = contentLength
        self.clientAddress = clientAddress
        self.requestID = requestID
        self.headers = headers
        self.signInTicket = signInTicket
        self.admissionLocation = admissionLocation
        self.streamLocation = streamLocation
    }

    /// A header's value; `nil` if it is absent or empty, which the protocol does not distinguish.
    func header(_ name: RequestHeader) -> String? {
        guard let value = headers[name], !value.isEmpty else { return nil }
        return value
    }

    /// Whether the client accepts a reply that is compressed with gzip, and does not prefer an uncompressed one (RFC
    /// 9110, section 12.5.3).
    var acceptsGzip: Bool {
        var weights: [String: Double] = [:]
        for element in (header(.acceptEncoding) ?? "").lowercased().split(separator: ",") {
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let coding = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            weights[coding] = weight
        }
        guard let gzip = weights["gzip"] ?? weights["x-gzip"] ?? weights["*"] else { return false }
        return gzip > 0 && gzip >= weights["identity"] ?? 0
    }
}

/// The body of one request, with its announced length.
final class RequestBody {
    /// Bodies up to this size are read to the end before an early reply is sent: nginx loses or delays replies to
    /// phones that are still uploading.
    static let drainLimitBytes: Int64 = 128 << 20

    private let connection: any ClientConnection
    private let announcedBytes: Int64?
    private(set) var receivedBytes: Int64 = 0
    private var hasEnded = false
    /// Bytes that were read before they were needed.
    private var ahead: ArraySlice<UInt8> = []
    /// Whether the rest is left to the web server, which discards it, so that no thread waits for a client that is too
    /// slow or over its limit.
    private(set) var isLeft = false

    init(of connection: any ClientConnection, announcedBytes: Int64?) {
        self.connection = connection
        self.announcedBytes = announcedBytes
    }

    /// Reads the next bytes into `buffer`, until it is full or the body ends; 0 at the end.
    func read(into buffer: inout [UInt8]) throws(ClientGone) -> Int {
        try read(into: &buffer, buffer.indices)
    }

    /// The same for a range of `buffer`.
    func read(into buffer: inout [UInt8], _ range: Range<Int>) throws(ClientGone) -> Int {
        if !ahead.isEmpty {
            let count = min(range.count, ahead.count)
            buffer.replaceSubrange(range.prefix(count), with: ahead.prefix(count))
            ahead = ahead.dropFirst(count)
            return count
        }
        var span = buffer.mutableSpan
        let count: Int
        do { count = try connection.readBody(into: &span, range) } catch {
            if error.reason == .tooSlow { isLeft = true }
            throw error
        }
        receivedBytes += Int64(count)
        if count == 0 && !range.isEmpty { hasEnded = true }
        return count
    }

    /// Reads a body that is short enough for memory; the caller has checked the announced length.
    /// - Throws: ``ClientGone``; ``ErrorCode/bodyLengthMismatch`` if fewer bytes arrived than were announced.
    func readWhole() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(announcedBytes ?? 0))
        guard try read(into: &bytes) == bytes.count else { throw Refusal(.bodyLengthMismatch) }
        return bytes
    }

    /// Reads the whole body like ``readWhole()``, and makes it available to later reads.
    func readAhead() throws -> [UInt8] {
        let bytes = try readWhole()
        ahead = bytes[...]
        return bytes
    }

    /// Leaves the rest unread, whatever the reply.
    func leave() { isLeft = true }

    /// Reads and discards the rest of an unwanted body, unless it is too large to wait for.
    func drain() throws(ClientGone) {
        guard !isLeft, let announcedBytes, announcedBytes <= Self.drainLimitBytes else { return }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while !hasEnded && receivedBytes < announcedBytes {
            _ = try read(into: &buffer)
        }
    }
}

/// The client, usually a phone, at the other end of one request.
///
/// The composition root implements it over FastCGI, tests in memory.
public protocol ClientConnection: AnyObject {
    /// Reads the next bytes of the request's body into a range of `buffer`, until it is full or the body ends.
    /// - Returns: the number of bytes read; 0 at the end of the body.
    /// - Throws: ``ClientGone`` if the phone disconnected, or is too slow for a transfer.
    func readBody(into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>) throws(ClientGone) -> Int

    /// Sends status and headers; once per request, before any ``write(_:)``.
    func start(status: Int, headers: [(name: String, value: String)]) throws(ClientGone)

    /// Whether ``write(_:)`` accepts 64 KiB now without blocking.
    var canWriteWithoutWaiting: Bool { get }

    /// Sends a part of the reply's body.
    func write(_ bytes: Span<UInt8>) throws(ClientGone)

    /// Ends the reply normally.
    func finish()

    /// Moves the request to another thread, to which `other` belongs.
    func goOn(onThreadOf other: any ClientConnection)

    /// Ends the connection so that the client cannot mistake the sent bytes for a complete reply, with or without an
    /// announced length.
    func abandon()
}

/// The connection to the phone ended before the request or the reply did.
public struct ClientGone: Error, Equatable {
    public enum Reason: Sendable {
        /// The phone, or the web server on its behalf, ended the connection.
        case hungUp
        /// The phone sends or receives below the minimum rate of transfers. It can get an error reply as long as no
        /// reply has begun.
        case tooSlow
    }

    public var reason: Reason

    public init(_ reason: Reason = .hungUp) {
        self.reason = reason
    }
}
