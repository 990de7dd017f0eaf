public import MariaDB
import Posix
public import SyncProtocol
import Synchronization

/// The server's persistent state: users, sharing groups, files, and pending work.
///
/// Shared by all threads. A connection is leased for the duration of one transaction and never while waiting for a
/// phone or a cloud: the closures here must not wait for them either.
public struct MetadataStore: Sendable {
    /// How often a transaction is attempted if it conflicts with others.
    public static let maximumAttempts = 8
    /// The length of the column; nginx's ids have 32 characters.
    public static let maximumRequestIDLength = 64

    private let pool: ConnectionPool
    private let pause: @Sendable (Duration) -> Void
    private let schema = SchemaState()
    private let clock: DatabaseClock
    /// Whether the database accepts changes.
    public let writes = WriteRecord()
    private var requestID: String?
    /// Learns, after each commit and on its thread, what has changed for listeners; must not wait.
    private let committed: @Sendable (CommittedChanges) -> Void

    /// - Parameters:
    ///   - pause: blocks the calling thread between attempts.
    ///   - committed: called after each commit, on its thread, with what has changed for listeners; must not wait.
    ///   - hostTime: the time since 1970 by this host's wall clock; tests pass one that is wrong.
    public init(
        pool: ConnectionPool, pause: @escaping @Sendable (Duration) -> Void,
        committed: @escaping @Sendable (CommittedChanges) -> Void = { _ in },
        hostTime: (@Sendable () -> Duration)? = nil
    ) {
        self.pool = pool
        self.pause = pause
        self.committed = committed
        let start = ContinuousClock.now
        clock = DatabaseClock(
            elapsed: { start.duration(to: .now) }, hostTime: hostTime ?? { .seconds(WallClock.secondsSince1970()) })
    }

    /// The current time by the database's clock, which all hosts share.
    ///
    /// The underlying reading is at most a second older than the last use of the store; this host's own clock is used
    /// only until the database has been reached for the first time.
    public var now: WireDate { clock.now }

    /// Opens the store, after ``MigrationRunner/verify()`` has verified the schema; until then every use throws
    /// ``StoreError/unavailable(_:)``, as if the database were unreachable.
    public func open() {
        schema.isVerified.store(true, ordering: .releasing)
    }

    /// The same store, for the work of one request: outbox rows that it adds name the request.
    ///
    /// - Parameter requestID: at most ``maximumRequestIDLength`` characters of printable ASCII; anything else is
    ///   ignored.
    public func serving(_ requestID: String?) -> MetadataStore {
        var store = self
        store.requestID = requestID.flatMap { id in
            let isKept = 1...Self.maximumRequestIDLength ~= id.utf8.count && id.utf8.allSatisfy { 0x20...0x7E ~= $0 }
            return isKept ? id : nil
        }
        return store
    }

    /// Runs `body` in one transaction and commits it; an error thrown by `body` rolls it back.
    ///
    /// Each statement sees the data committed at that moment, so the reads of `body` after it has locked a group are as
    /// recent as the lock. Deadlocks, lock timeouts and certification failures make the whole transaction run again, so
    /// `body` may run several times and must have no effect outside the session. Attempts are separated by a short
    /// random pause.
    public func transaction<Result>(_ body: (inout StoreSession) throws -> Result) throws -> Result {
        try repeatedStatement { session in
            try session.begin()
            let result = try body(&session)
            try session.commit()
            if !session.changes.isEmpty { committed(session.changes) }
            return result
        }
    }

    /// Runs `body` as ``withSession(_:)`` does, and again if it conflicts with others: for a single statement that
    /// writes. It needs one round trip to the database, while a transaction needs three; each statement is a separate
    /// transaction.
    public func repeatedStatement<Result>(_ body: (inout StoreSession) throws -> Result) throws -> Result {
        var attempt = 1
        while true {
            do {
                let result = try withSession(body)
                writes.succeeded()
                return result
            } catch StoreError.unavailable(let cause) where WriteRecord.isRefusal(cause) {
                writes.refused()
                throw StoreError.unavailable(cause)
            } catch StoreError.contention where attempt < Self.maximumAttempts {
                pause(.milliseconds(Int.random(in: 1...(5 << min(attempt, 6)))))
                attempt += 1
            }
        }
    }

    /// Runs `body` on one consistent snapshot: everything it reads is from the same moment.
    public func snapshot<Result>(_ body: (inout StoreSession) throws -> Result) throws -> Result {
        try withSession { session in
            try session.beginSnapshot()
            let result = try body(&session)
            try session.commit()
            return result
        }
    }

    /// Runs `body` outside a transaction: each statement is its own transaction, and is not retried if it conflicts
    /// with others. For single reads, and for single statements that write only their own row.
    public func withSession<Result>(_ body: (inout StoreSession) throws -> Result) throws -> Result {
        guard schema.isVerified.load(ordering: .acquiring) else {
            throw StoreError.unavailable(.unavailable(code: 0, message: "the schema has not been verified yet"))
        }
        let connection: Connection
        do { connection = try pool.lease() } catch { throw StoreError(error) }
        var session = StoreSession(connection, requestID: requestID)
        let result = Swift.Result {
            if clock.isDue {
                try clock.read { () throws(StoreError) in try session.clockMilliseconds() }
            }
            return try body(&session)
        }
        pool.release(session.end())
        return try result.get()
    }

    /// Checks that the database responds.
    /// - Throws: ``StoreError/unavailable(_:)``.
    public func check() throws {
        try withSession { session in try session.check() }
    }
}

/// Whether a database that answers accepts changes: its latest answer to one, and the number of rejections. Shared by
/// all copies of a ``MetadataStore``.
public final class WriteRecord: Sendable {
    private let isRefusing = Atomic(false)
    private let count = Atomic(0)

    /// Whether the database rejected the latest change. Each process attempts one twice a minute, independently of
    /// phones.
    public var areRefused: Bool { isRefusing.load(ordering: .relaxed) }

    /// How many changes the database has rejected since the process started.
    public var refusals: Int { count.load(ordering: .relaxed) }

    func succeeded() { isRefusing.store(false, ordering: .relaxed) }

    func refused() {
        isRefusing.store(true, ordering: .relaxed)
        count.add(1, ordering: .relaxed)
    }

    /// The server's codes for a rejected change that would also be rejected a moment later. All other codes of
    /// ``MariaDBError/unavailable(code:message:)`` concern one connection, which has ended or was not accepted.
    private static let refusals: Set<UInt32> = [
        // An option prevents it, such as read_only; the transaction, the table or all of InnoDB is read-only.
        1_290, 1_792, 1_036, 1_836, 1_874,
        // The disk or the table is full; the file system or the storage engine fails.
        1_021, 1_114, 1_026, 1_030,
    ]

    /// Whether the server itself rejected a statement: it is read-only, or its disk is full.
    static func isRefusal(_ error: MariaDBError) -> Bool {
        guard case .unavailable(let code, _) = error else { return false }
        return refusals.contains(code)
    }
}

/// Whether the database has been verified to have the right schema; shared by all copies of a ``MetadataStore``.
private final class SchemaState: Sendable {
    let isVerified = Atomic(false)
}

/// The database's clock, used for everything that several hosts compare: leases, due times, expiry times and ages.
///
/// Shared by all copies of a ``MetadataStore``, which asks the database for its time at most once a second, on a
/// connection that is in use anyway. In between, time advances by this host's monotonic clock; its wall clock may be
/// hours wrong, or jump, without any effect.
final class DatabaseClock: Sendable {
    /// How long a reading is valid: if a host was suspended, it notices after this time at the latest.
    private static let validity: Duration = .seconds(1)

    private struct Reading {
        /// The database's time minus the monotonic one.
        var offset: Duration
        /// Time of the reading, by the monotonic clock.
        var taken: Duration
    }

    private let elapsed: @Sendable () -> Duration
    private let hostTime: @Sendable () -> Duration
    private let reading = Mutex<Reading?>(nil)

    /// - Parameters:
    ///   - elapsed: the time since an arbitrary moment, by a clock that is never adjusted.
    ///   - hostTime: the time since 1970 by this host's wall clock; used until the database is first asked.
    init(elapsed: @escaping @Sendable () -> Duration, hostTime: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
        self.hostTime = hostTime
    }

    /// The current time, in whole seconds, rounded down as the database does.
    var now: WireDate {
        let sinceEpoch = reading.withLock { $0?.offset }.map { $0 + elapsed() } ?? hostTime()
        return WireDate(secondsSince1970: sinceEpoch.components.seconds)
    }

    /// Whether the database must be asked for its time again.
    var isDue: Bool {
        let now = elapsed()
        return reading.withLock { $0.map { now - $0.taken >= Self.validity } ?? true }
    }

    /// Reads the database's clock.
    /// - Parameter ask: asks the database for the milliseconds since 1970.
    func read(_ ask: () throws(StoreError) -> Int64) throws(StoreError) {
        let asked = elapsed()
        let milliseconds = try ask()
        let answered = elapsed()
        // The database read its clock between these two moments.
        let offset = .milliseconds(milliseconds) - (asked + answered) / 2
        reading.withLock { reading in
            if let present = reading, present.taken > answered { return }
            reading = Reading(offset: offset, taken: answered)
        }
    }
}
