public import SyncProtocol

/// Collects statistics of requests; called on the request's thread.
public struct RequestObserver: Sendable {
    /// A request to a known endpoint begins.
    var began: @Sendable (EndpointName) -> Void
    /// A request has ended: its endpoint, if known, in which case ``began`` was called; the status of its reply, 499 if
    /// the phone disconnected; whether it named an outdated master version; its duration.
    var ended: @Sendable (EndpointName?, _ status: Int, _ isStale: Bool, Duration) -> Void
    /// The reply is an error with this code (docs/protocol.md, section 4.2), or there is no reply, for the reason in
    /// the log's field `code`; called before ``ended``.
    var failed: @Sendable (_ code: String) -> Void
    /// The request has committed staged changes, whether or not its reply arrived; called before ``ended``.
    var committed: @Sendable (EndpointName) -> Void

    /// The request was rejected because its user has reached a quota; called before ``ended``.
    var refused: @Sendable (Quota) -> Void
    /// The request has stored tokens without a refresh token for an account with storage; called before ``ended``.
    var lackedOfflineAccess: @Sendable () -> Void

    public init(
        began: @escaping @Sendable (EndpointName) -> Void,
        ended: @escaping @Sendable (EndpointName?, _ status: Int, _ isStale: Bool, Duration) -> Void,
        committed: @escaping @Sendable (EndpointName) -> Void,
        failed: @escaping @Sendable (_ code: String) -> Void = { _ in },
        refused: @escaping @Sendable (Quota) -> Void = { _ in },
        lackedOfflineAccess: @escaping @Sendable () -> Void = {}
    ) {
        self.began = began
        self.ended = ended
        self.committed = committed
        self.failed = failed
        self.refused = refused
        self.lackedOfflineAccess = lackedOfflineAccess
    }
}
