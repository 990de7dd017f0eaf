public import HTTPTransport
import OpenSSLCrypto
public import Store
public import SyncProtocol

/// Lets only one request at a time, across all hosts, ask a provider for new tokens of a user.
///
/// The lease is a committed row with an expiry: if its holder dies, the next request acquires it after
/// ``leaseSeconds``. Losing the lease does not affect what is stored: that is decided by the version of the
/// credentials.
public struct RefreshLease {
    /// Longer than a request to the provider may take, ``askingLimit``.
    public static let leaseSeconds = 30
    /// How long the holder may wait for the provider's reply.
    public static let askingLimit: Duration = .seconds(20)
    static let pollInterval: Duration = .milliseconds(50)

    private let userID: UserID
    private let store: MetadataStore
    private let backoff: Backoff
    private let service: String?

    /// - Parameter service: whom the holder asks, as ``Backoff`` counts those who wait.
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
    ///   - isDone: whether somebody else has already obtained the result; checked again after each wait.
    /// - Returns: `nil` if `isDone` became true, the deadline passed first, or too many others wait already.
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
            // It may have been obtained between the check and the lease.
            return try isDone() ? nil : body()
        } while backoff.pause(Self.pollInterval, deadline: deadline, for: service)
        return nil
    }
}
