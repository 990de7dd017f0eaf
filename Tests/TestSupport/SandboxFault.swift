/// A fault at a provider that occurs `times` times or until the faults are cleared.
public struct SandboxFault: Sendable {
    /// The provider's host name; nil means any.
    public var host: String?
    /// Only requests whose path begins with this text.
    public var pathPrefix: String?
    /// Only requests with this method.
    public var method: String?
    /// Only requests whose query contains this text.
    public var queryContains: String?
    /// The status of the reply; nil leaves it unchanged.
    public var status: Int?
    /// Seconds in the reply's `Retry-After`.
    public var retryAfter: Int?
    /// The number of occurrences; nil means unlimited.
    public var times: Int?
    /// The number of matching requests to skip first.
    public var skip: Int?
    /// A delay before the reply.
    public var latencyMilliseconds: Int?
    /// The number of bytes after which the reply's body ends.
    public var truncateAfterBytes: Int?
    /// The number of bytes of the request's body after which the connection is reset without a reply.
    public var resetAfterBytes: Int?
    /// The provider's own reason for the status, such as `userRateLimitExceeded`.
    public var reason: String?
    /// The byte in which a bit is flipped: of the request's body if it has one, otherwise of the reply's.
    public var corruptAtByte: Int?
    /// The number of bytes of a chunk to store, rounded down to the provider's granularity.
    public var keepBytes: Int?
    /// The reply's body instead of the provider's own form, as HTML.
    public var body: String?
    /// Whether the provider performs the request and only the reply fails.
    public var afterEffect: Bool?

    /// Creates a fault; set the other properties individually.
    public init(
        host: String? = "www.googleapis.com", pathPrefix: String? = nil, method: String? = nil, status: Int? = nil,
        times: Int? = nil
    ) {
        self.host = host
        self.pathPrefix = pathPrefix
        self.method = method
        self.status = status
        self.times = times
    }

    var json: [String: Any] {
        let members: [String: Any?] = [
            "host": host, "pathPrefix": pathPrefix, "method": method, "status": status, "retryAfter": retryAfter,
            "times": times, "skip": skip, "latencyMs": latencyMilliseconds,
            "truncateAfterBytes": truncateAfterBytes, "resetAfterBytes": resetAfterBytes, "afterEffect": afterEffect,
            "reason": reason, "queryContains": queryContains, "corruptAtByte": corruptAtByte,
            "keepBytes": keepBytes, "body": body,
        ]
        return members.compactMapValues { $0 }
    }
}
