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

    public init(
        began: @escaping @Sendable (EndpointName) -> Void,
        ended: @escaping @Sendable (EndpointName?, _ status: Int, _ isStale: Bool, Duration) -> Void,
        committed: @escaping @Sendable (EndpointName) -> Void
    ) {
        self.began = began
        self.ended = ended
        self.committed = committed
    }
}
