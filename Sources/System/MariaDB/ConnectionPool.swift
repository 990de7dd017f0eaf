import Dispatch
import Synchronization

/// A bounded number of connections, lent out for the length of a closure.
///
/// Any thread may ask; whoever comes when all are busy waits, up to the lease timeout. Connections are made when
/// needed and kept. Before a kept one is lent out it is checked: poll(2) shows whether the server closed it, and after
/// ``pingAfterIdle`` without use it is pinged as well. As soon as one turns out dead, all idle ones are dropped, since
/// they were probably lost together, and a new one is made. So the first request after a restart of the server succeeds.
/// What remains is a server that goes away between check and first statement: that is an error, as in the middle.
public final class ConnectionPool: Sendable {
    /// Counters for monitoring; a snapshot.
    public struct Statistics: Sendable, Equatable {
        /// Connections lent out now.
        public var leased = 0
        /// Connections open and idle now.
        public var idle = 0
        /// Connections made since the start.
        public var connectionsMade = 0
        /// Connections dropped since the start because they broke or were found dead.
        public var connectionsDropped = 0
        /// Requests that found all connections busy and waited for one, in vain or not.
        public var leaseWaits = 0
        /// How long they waited, all together.
        public var leaseWaited: Duration = .zero
        /// Requests that found all connections busy for the whole lease timeout.
        public var leaseTimeouts = 0
    }

    /// An idle connection that was unused for this long is pinged before it is lent out, unless the pool was told otherwise.
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

    /// Makes a pool of at most `maximumConnections` (1 or more); connects to nothing yet.
    /// - Parameter pingAfterIdle: in place of ``pingAfterIdle``; zero has each idle connection pinged.
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

    /// Lends a connection to `body` and returns what it returns.
    ///
    /// A transaction that `body` leaves open, by throwing or otherwise, is rolled back. A connection that broke is
    /// dropped. Do not lease a second connection inside `body`: all threads could come to wait for each other.
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

    /// Lends a connection by value, for callers that wrap it in a type of their own; pair each call with
    /// ``release(_:)``.
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

    /// Takes back a connection that ``lease()`` lent, rolling back what it left open.
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

    /// A connection that was alive a moment ago: the one used last, or a new one.
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
/// `@unchecked Sendable`: it holds the connection only while nobody uses it, and exactly one thread takes it out of the
/// pool's state, under its lock. libmariadb allows a connection to be used by different threads one after the other.
private final class IdleConnection: @unchecked Sendable {
    private var connection: Connection?
    private let since = ContinuousClock.now

    init(_ connection: consuming Connection) { self.connection = consume connection }

    var idleTime: Duration { ContinuousClock.now - since }

    func take() -> Connection? { connection.take() }
}

extension Connection {
    /// Whether the connection is good for another lease after that long without use.
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
