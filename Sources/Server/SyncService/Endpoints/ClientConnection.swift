/// The phone, or whoever else asked, at the other end of one request.
///
/// The composition root implements it over FastCGI, tests in memory.
public protocol ClientConnection: AnyObject {
    /// Reads the next bytes of the request's body into the beginning of `buffer`, until it is full or the body ends.
    /// - Returns: the number of bytes read; 0 at the end of the body.
    /// - Throws: ``ClientGone`` if the phone hung up, or is slower than a transfer may be.
    func readBody(into buffer: inout MutableSpan<UInt8>) throws(ClientGone) -> Int

    /// Sends status and headers; once per request, before any ``write(_:)``.
    func start(status: Int, headers: [(name: String, value: String)]) throws(ClientGone)

    /// Whether ``write(_:)`` takes 64 KiB now without waiting for anybody.
    var canWriteWithoutWaiting: Bool { get }

    /// Sends a part of the reply's body.
    func write(_ bytes: Span<UInt8>) throws(ClientGone)

    /// Ends the reply properly.
    func finish()

    /// Another thread goes on with the request: the one that `other` belongs to.
    func goOn(onThreadOf other: any ClientConnection)

    /// Ends the connection so that what was sent cannot be taken for a whole reply, announced length or not.
    func abandon()
}

/// The connection to the phone ended before the request or the reply did.
public struct ClientGone: Error, Equatable {
    public enum Reason: Sendable {
        /// The phone, or the web server on its behalf, ended the connection.
        case hungUp
        /// The phone sends or takes less than the least rate of transfers. As long as no reply has begun it can be told.
        case tooSlow
    }

    public var reason: Reason

    public init(_ reason: Reason = .hungUp) {
        self.reason = reason
    }
}
