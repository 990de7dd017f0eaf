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
    /// The result of the sign-in from another role: ``SignInTickets``. From the web server, never from a client.
    public var signInTicket: String?
    /// The web server's location that asks the api role whether this transfer may begin; `nil` if it has already asked,
    /// or does not ask.
    public var admissionLocation: String?
    /// The address that the client used, without the query; `nil` if the web server did not report it.
    public var address: String?
    /// Whether the web server itself answers all other requests to this host, for maintenance.
    public var isHostClosed: Bool
    private let headers: [RequestHeader: String]

    public init(
        method: String, path: String, query: String, contentLength: Int64?, clientAddress: String? = nil,
        requestID: String?, headers: [RequestHeader: String], signInTicket: String? = nil,
        admissionLocation: String? = nil, address: String? = nil, isHostClosed: Bool = false
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
    }

    /// A header's value; `nil` if it is absent or empty, which the protocol does not distinguish.
    func header(_ name: RequestHeader) -> String? {
        guard let value = headers[name], !value.isEmpty else { return nil }
        return value
    }
}
