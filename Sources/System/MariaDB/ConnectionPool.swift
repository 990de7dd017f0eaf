import Dispatch
import Synchronization

/// A bounded number of connections, leased for the duration of a closure.
///
/// Thread-safe; when all connections are busy, callers wait up to the lease timeout. Connections are opened on demand
/// and kept. A kept connection is checked before it is leased: poll(2) shows whether the server closed it, and after
/// ``pingAfterIdle`` without use it is pinged as well. As soon as one turns out to be dead, all idle ones are dropped,
/// because they were probably lost together, and a new one is opened. The first request after a restart of the server
/// therefore succeeds. A server that goes away between the check and the first statement still causes an error, as it
/// does later.
public final class ConnectionPool: Sendable {
    /// Counters for monitoring; a snapshot.
    public struct Statistics: Sendable, Equatable {
        /// Connections currently leased.
        public var leased = 0
        /// Connections currently open and idle.
        public var idle = 0
        /// Connections opened since the start.
        public var connectionsMade = 0
        /// Connections dropped since the start because they broke or were found dead.
        public var connectionsDropped = 0
        /// Requests that found all connections busy and waited for one, successfully or not.
        public var leaseWaits = 0
        /// Their total waiting time.
        public var leaseWaited: Duration = .zero
        /// Requests that found all connections busy for the whole lease timeout.
        public var leaseTimeouts = 0
    }

    /// A connection that was idle for this long is pinged before it is leased, unless the pool is configured otherwise.
    public static let pingAfterIdle: Duration = .seconds(5)

    private let pingAfterIdle: Duration
    private let settings: ConnectionSettings
    private let leaseTimeout: Duration
    private let free: DispatchSemaphore
    private let state = Mutex(State())

    private struct State {
        var idle: [IdleConnection] = []
        var statistics = Statistics()
    }

    /// Creates a pool of at most `maximumConnections` (1 or more); does not connect yet.
    /// - Parameter pingAfterIdle: overrides ``pingAfterIdle``; zero pings every idle connection.
    public init(
        settings: ConnectionSettings, maximumConnections: Int, leaseTimeout: Duration,
        pingAfterIdle: Duration = ConnectionPool.pingAfterIdle
    ) {
        precondition(maximumConnections >= 1, "a pool needs at least one connection")
        self.pingAfterIdle = pingAfterIdle
        self.settings = settings
        self.leaseTimeout = leaseTimeout
        free = DispatchSemaphore(value: maximumConnections)
    }

    /// Leases a connection to `body` and returns its result.
    ///
    /// A transaction that `body` leaves open, by throwing or otherwise, is rolled back. A broken connection is dropped.
    /// Do not lease a second connection inside `body`: all threads could end up waiting for each other.
    /// - Throws: ``MariaDBError/poolExhausted``, ``MariaDBError/unavailable(code:message:)`` and
    ///   ``MariaDBError/accessDenied(code:message:)`` before `body` ran, or what `body` throws.
    @discardableResult
    public func withConnection<Result, Failure: MariaDBErrorConvertible>(
        _ body: (inout Connection) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var connection: Connection
        do throws(MariaDBError) { connection = try lease() } catch { throw Failure(error) }
        let result: Swift.Result<Result, Failure>
        do throws(Failure) { result = .success(try body(&connection)) } catch { result = .failure(error) }
        release(connection)
        return try result.get()
    }

    /// Leases a connection by value, for callers that wrap it in their own type; pair each call with ``release(_:)``.
    /// - Throws: as ``withConnection(_:)`` before its body runs.
    public func lease() throws(MariaDBError) -> Connection {
        if free.wait(timeout: .now()) != .success {
            let start = ContinuousClock.now
            let isFree = free.wait(timeout: .now() + leaseTimeout.dispatchInterval) == .success
            state.withLock { state in
                state.statistics.leaseWaits += 1
                state.statistics.leaseWaited += start.duration(to: .now)
                if !isFree { state.statistics.leaseTimeouts += 1 }
            }
            guard isFree else { throw .poolExhausted }
        }
        do throws(MariaDBError) {
            return try checkOut()
        } catch {
            free.signal()
            throw error
        }
    }

    /// Takes back a connection from ``lease()``, rolling back any open transaction.
    public func release(_ connection: consuming Connection) {
        if connection.isInTransaction { try? connection.rollback() }
        checkIn(connection)
        free.signal()
    }

    /// A snapshot of the counters.
    public var statistics: Statistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.idle = state.idle.count
            return statistics
        }
    }

    /// A connection that was alive a moment ago: the most recently used one, or a new one.
    private func checkOut() throws(MariaDBError) -> Connection {
        while let slot = state.withLock({ $0.idle.popLast() }) {
            if var connection = slot.take(), connection.isAlive(idleFor: slot.idleTime, pingAfter: pingAfterIdle) {
                state.withLock { $0.statistics.leased += 1 }
                return connection
            }
            let lost = state.withLock { state in
                defer { state.idle.removeAll() }
                state.statistics.connectionsDropped += state.idle.count + 1
                return state.idle
            }
            withExtendedLifetime(lost) {}
        }
        let connection = try Connection(settings)
        state.withLock { state in
            state.statistics.connectionsMade += 1
            state.statistics.leased += 1
        }
        return connection
    }

    /// Keeps the connection for the next lease, or drops it.
    private func checkIn(_ connection: consuming Connection) {
        let isUsable = connection.isUsable && !connection.isInTransaction
        let slot = IdleConnection(connection)
        state.withLock { state in
            state.statistics.leased -= 1
            if isUsable {
                state.idle.append(slot)
            } else {
                state.statistics.connectionsDropped += 1
            }
        }
    }
}

/// A connection between two leases.
///
/// `@unchecked Sendable`: it holds the connection only while it is unused, and exactly one thread removes it from the
/// pool's state, under its lock. libmariadb allows different threads to use a connection one after another.
private final class IdleConnection: @unchecked Sendable {
    private var connection: Connection?
    private let since = ContinuousClock.now

    init(_ connection: consuming Connection) { self.connection = consume connection }

    var idleTime: Duration { ContinuousClock.now - since }

    func take() -> Connection? { connection.take() }
}

extension Connection {
    /// Whether the connection can be leased again after being idle for that long.
    fileprivate mutating func isAlive(idleFor idleTime: Duration, pingAfter limit: Duration) -> Bool {
        guard !isHungUp else { return false }
        guard idleTime > limit else { return true }
        do throws(MariaDBError) { try ping() } catch { return false }
        return true
    }
}

extension Duration {
    /// For Dispatch; in whole microseconds.
    fileprivate var dispatchInterval: DispatchTimeInterval {
        .microseconds(Int(clamping: components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000))
    }
}
