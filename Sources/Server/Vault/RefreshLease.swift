public import HTTPTransport
import OpenSSLCrypto
public import Store
public import SyncProtocol

/// Lets one request at a time ask a provider for new tokens of one user, on all hosts together.
///
/// The reservation is a committed row with an end: when its holder dies, the next one gets in after
/// ``leaseSeconds``. Losing it changes nothing about what is stored: that is decided by the version of the credentials.
public struct RefreshLease {
    /// Longer than asking a provider may take, ``askingLimit``.
    public static let leaseSeconds = 30
    /// How long the holder may take for the provider's reply.
    public static let askingLimit: Duration = .seconds(20)
    private static let pollInterval: Duration = .milliseconds(50)

    private let userID: UserID
    private let store: Store
    private let backoff: Backoff

    public init(of userID: UserID, store: Store, backoff: Backoff) {
        self.userID = userID
        self.store = store
        self.backoff = backoff
    }

    /// Runs `body` as the only one for this user.
    ///
    /// - Parameters:
    ///   - deadline: how long to wait for the turn.
    ///   - isDone: whether somebody else has brought what is wanted; asked again after each wait.
    /// - Returns: `nil` if `isDone` or the deadline came first.
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
            // Where this fails the lease ends by itself.
            defer { _ = try? store.transaction { try $0.endRefreshLease(of: userID, for: owner) } }
            // Perhaps it was brought between the question and the lease.
            return try isDone() ? nil : body()
        } while backoff.pause(Self.pollInterval, deadline: deadline)
        return nil
    }
}
