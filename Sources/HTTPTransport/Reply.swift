public import HTTPTypes

/// The status line and header of a provider's reply.
public struct ReplyHead: Sendable {
    public var status: Int
    public var headers: HTTPFields

    public init(status: Int, headers: HTTPFields) {
        self.status = status
        self.headers = headers
    }

    /// How long the provider asks us to wait, if it says so in seconds (RFC 9110, section 10.2.3); the form with a date
    /// is treated as absent.
    public var retryAfter: Duration? {
        headers[.retryAfter].flatMap { Int($0) }.map { .seconds(max(0, $0)) }
    }
}

/// A provider's whole reply.
public struct Reply: Sendable {
    public var head: ReplyHead
    public var body: [UInt8]

    public init(head: ReplyHead, body: [UInt8]) {
        self.head = head
        self.body = body
    }

    public var status: Int { head.status }
}
