import SyncProtocol
import Synchronization

/// The time of the database, which decides whatever several hosts compare: leases, due times, expiries and ages.
///
/// Shared by all copies of a ``Store``, which asks the database for its time at most once a second, on a connection that
/// is leased anyway. In between the time goes on by this host's monotonic clock; its wall clock may be hours wrong, or
/// jump, and changes nothing.
final class DatabaseClock: Sendable {
    /// How long a reading is good for: what a suspended host sleeps through is noticed after this time at the latest.
    private static let validity: Duration = .seconds(1)

    private struct Reading {
        /// The database's time minus the monotonic one.
        var offset: Duration
        /// By the monotonic clock.
        var taken: Duration
    }

    private let elapsed: @Sendable () -> Duration
    private let hostTime: @Sendable () -> Duration
    private let reading = Mutex<Reading?>(nil)

    /// - Parameters:
    ///   - elapsed: the time since some moment, by a clock that nobody sets.
    ///   - hostTime: the time since 1970 by this host's wall clock; counts until the database was first asked.
    init(elapsed: @escaping @Sendable () -> Duration, hostTime: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
        self.hostTime = hostTime
    }

    /// The present, in whole seconds, rounded down as the database does.
    var now: WireDate {
        let sinceEpoch = reading.withLock { $0?.offset }.map { $0 + elapsed() } ?? hostTime()
        return WireDate(secondsSince1970: sinceEpoch.components.seconds)
    }

    /// Whether it is time to ask the database again.
    var isDue: Bool {
        let now = elapsed()
        return reading.withLock { $0.map { now - $0.taken >= Self.validity } ?? true }
    }

    /// Takes a reading.
    /// - Parameter ask: asks the database for the milliseconds since 1970.
    func read(_ ask: () throws(StoreError) -> Int64) throws(StoreError) {
        let asked = elapsed()
        let milliseconds = try ask()
        let answered = elapsed()
        // The database looked at its clock somewhere in between.
        let offset = .milliseconds(milliseconds) - (asked + answered) / 2
        reading.withLock { reading in
            if let present = reading, present.taken > answered { return }
            reading = Reading(offset: offset, taken: answered)
        }
    }
}
