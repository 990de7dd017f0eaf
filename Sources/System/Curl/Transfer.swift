/// One of the concurrent transfers of a ``TransferLoop``: a request, and how long it may take.
public struct Transfer: Sendable {
    /// What is sent. Its ``Request/totalTimeout`` holds for the whole transfer, its ``Request/connectTimeout`` for name
    /// lookup, TCP and TLS. ``Request/lowSpeedTime``, ``Request/responseBodyLimit``, ``ArrivingBody/patience`` and
    /// ``Request/reach`` have no effect.
    public var request: Request
    /// Maximum time without progress once there is a connection. Progress is that the connection has taken bytes of the
    /// body, that the head of the response is complete, and that bytes of its body have arrived: whatever a server sends
    /// instead of a head, it has this long for all of it.
    public var idleTimeout: Duration
    /// A PEM file of the certificate authorities to trust instead of the system's; nil for the system's.
    public var caFile: String?
    /// Allows `http` URLs as well.
    public var allowsPlainHTTP: Bool
    /// Whether libcurl may send the request once more if the server closes a reused connection at that very moment. If
    /// not, such a transfer fails with ``CurlError/interrupted(code:message:)``.
    public var mayBeSentTwice: Bool

    /// Creates a transfer.
    public init(
        _ request: Request, idleTimeout: Duration, caFile: String? = nil, allowsPlainHTTP: Bool = false,
        mayBeSentTwice: Bool = false
    ) {
        self.request = request
        self.idleTimeout = idleTimeout
        self.caFile = caFile
        self.allowsPlainHTTP = allowsPlainHTTP
        self.mayBeSentTwice = mayBeSentTwice
    }
}

/// Receives what one transfer brings.
///
/// A ``TransferLoop`` calls it from its own thread, one call after the other; all other transfers of the loop wait
/// meanwhile.
public protocol TransferReceiver: AnyObject, Sendable {
    /// Takes status and headers; false stops the transfer, which then fails with ``CurlError/cancelled``.
    func begin(_ head: ResponseHead) -> Bool
    /// Takes the next bytes of the body, at most 16 KiB; false stops the transfer.
    func receive(_ bytes: [UInt8]) -> Bool
    /// Learns how many bytes of the request's body the connection has taken so far.
    func note(sentBytes: Int)
    /// Learns that the transfer is over; the last call. A body must not be trusted before it.
    ///
    /// If the request's body could not be read, the error is ``CurlError/cancelled``.
    func end(_ result: Result<Void, CurlError>)
}
