/// Something that goes wrong at a provider from now on, `times` times or until the faults are cleared.
public struct SandboxFault: Sendable {
    /// The provider's host name; nil means any.
    public var host: String?
    /// Only requests whose path begins so.
    public var pathPrefix: String?
    /// Only requests of this method.
    public var method: String?
    /// Only requests whose query contains this text.
    public var queryContains: String?
    /// The status of the reply; nil leaves it alone.
    public var status: Int?
    /// Seconds in the reply's `Retry-After`.
    public var retryAfter: Int?
    /// How often it happens; nil means always.
    public var times: Int?
    /// How many matching requests are spared first.
    public var skip: Int?
    /// A delay before the reply.
    public var latencyMilliseconds: Int?
    /// Bytes of the reply's body after which it ends.
    public var truncateAfterBytes: Int?
    /// Bytes of the request's body after which the connection is cut without a reply.
    public var resetAfterBytes: Int?
    /// The provider's own reason for the status, such as `userRateLimitExceeded`.
    public var reason: String?
    /// Flip a bit of this byte: of the request's body if it has one, else of the reply's.
    public var corruptAtByte: Int?
    /// Store only so many bytes of a chunk, rounded down to what the provider keeps.
    public var keepBytes: Int?
    /// The reply's body instead of the provider's own form, as HTML.
    public var body: String?
    /// Do the work, and fail only the reply.
    public var afterEffect: Bool?

    /// A fault of that host; the rest is set one by one.
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
