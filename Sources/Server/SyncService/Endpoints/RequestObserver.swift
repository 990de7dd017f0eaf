public import SyncProtocol

/// Whoever keeps statistics of requests; called on the request's thread.
public struct RequestObserver: Sendable {
    /// A request to a known endpoint begins.
    var began: @Sendable (EndpointName) -> Void
    /// A request is over: its endpoint, if that is known, and then ``began`` was called; the status of its reply, 499 if
    /// the phone hung up; whether it named a master version that is not the current one; how long it took.
    var ended: @Sendable (EndpointName?, _ status: Int, _ isStale: Bool, Duration) -> Void
    /// The request has committed staged changes, whether or not its reply arrived; called before ``ended``.
    var committed: @Sendable (EndpointName) -> Void

    /// The request was refused since its user has reached a quota; called before ``ended``.
    var refused: @Sendable (Quota) -> Void
    /// The request has stored tokens of an account with storage that have no refresh token; called before ``ended``.
    var lackedOfflineAccess: @Sendable () -> Void

    public init(
        began: @escaping @Sendable (EndpointName) -> Void,
        ended: @escaping @Sendable (EndpointName?, _ status: Int, _ isStale: Bool, Duration) -> Void,
        committed: @escaping @Sendable (EndpointName) -> Void,
        refused: @escaping @Sendable (Quota) -> Void = { _ in },
        lackedOfflineAccess: @escaping @Sendable () -> Void = {}
    ) {
        self.began = began
        self.ended = ended
        self.committed = committed
        self.refused = refused
        self.lackedOfflineAccess = lackedOfflineAccess
    }
}
