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
