/// One of the concurrent transfers of a ``TransferLoop``: a request, and how long it may take.
public struct Transfer: Sendable {
    /// The request to send. Its ``Request/totalTimeout`` applies to the whole transfer, its ``Request/connectTimeout``
    /// to name lookup, TCP and TLS. ``Request/lowSpeedTime``, ``Request/responseBodyLimit``, ``ArrivingBody/patience``
    /// and ``Request/reach`` have no effect.
    public var request: Request
    /// Maximum time without progress once a connection exists. Progress means that the connection accepted bytes of the
    /// body, that the head of the response is complete, or that bytes of the response's body have arrived: this limits
    /// the total time that a server takes for a head.
    public var idleTimeout: Duration
    /// A PEM file of the certificate authorities to trust instead of the system's; nil for the system's.
    public var caFile: String?
    /// Allows `http` URLs as well.
    public var allowsPlainHTTP: Bool
    /// Whether libcurl may send the request once more if the server closes a reused connection at that moment. If not,
    /// such a transfer fails with ``CurlError/interrupted(code:message:)``.
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

/// Receives the events of one transfer.
///
/// A ``TransferLoop`` calls it from its own thread, one call at a time; all other transfers of the loop wait meanwhile.
public protocol TransferReceiver: AnyObject, Sendable {
    /// Receives status and headers; false stops the transfer, which then fails with ``CurlError/cancelled``.
    func begin(_ head: ResponseHead) -> Bool
    /// Receives the next bytes of the body, at most 16 KiB; false stops the transfer.
    func receive(_ bytes: [UInt8]) -> Bool
    /// Receives the number of bytes of the request's body that the connection has accepted so far.
    func note(sentBytes: Int)
    /// Receives the result of the transfer; the last call. A body must not be trusted before it.
    ///
    /// If the request's body could not be read, the error is ``CurlError/cancelled``.
    func end(_ result: Result<Void, CurlError>)
}
