public import HTTPTransport
import OpenSSLCrypto
public import Store
public import SyncProtocol

/// Lets only one request at a time, across all hosts, ask a provider for new tokens of a user; the threads of one
/// request share ``AccountTokens``.
///
/// The lease is a committed row with an expiry: if its holder dies, the next request acquires it after
/// ``leaseSeconds``. Losing the lease does not affect the stored credentials: their version decides which change is
/// stored.
public struct RefreshLease {
    /// Longer than ``askingLimit``, the time limit of a request to the provider.
    public static let leaseSeconds = 30
    /// How long the holder may wait for the provider's reply.
    public static let askingLimit: Duration = .seconds(20)
    static let pollInterval: Duration = .milliseconds(50)

    private let userID: UserID
    private let store: MetadataStore
    private let backoff: Backoff
    private let service: String?

    /// - Parameter service: the service that the holder asks; ``Backoff`` counts waiting requests by service.
    public init(of userID: UserID, store: MetadataStore, backoff: Backoff, service: String? = nil) {
        self.userID = userID
        self.service = service
        self.store = store
        self.backoff = backoff
    }

    /// Runs `body` exclusively for this user.
    ///
    /// - Parameters:
    ///   - deadline: how long to wait for the lease.
    ///   - isDone: whether another request has already obtained the result; checked again after each wait.
    /// - Returns: `nil` if `isDone` became true, the deadline passed first, or too many requests are already waiting.
    public func take<Value>(
        by deadline: Deadline, unless isDone: () throws -> Bool, _ body: () throws -> Value
    ) throws -> Value? {
        let owner = try RandomBytes.uuidText()
        repeat {
            if try isDone() { return nil }
            let isOurs = try store.transaction { session in
                try session.takeRefreshLease(of: userID, for: owner, seconds: Self.leaseSeconds)
            }
            guard isOurs else { continue }
            // If this fails, the lease expires.
            defer { _ = try? store.transaction { try $0.endRefreshLease(of: userID, for: owner) } }
            // The result may have been obtained between the check and the lease.
            return try isDone() ? nil : body()
        } while backoff.pause(Self.pollInterval, deadline: deadline, for: service)
        return nil
    }
}
