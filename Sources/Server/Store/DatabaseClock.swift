import SyncProtocol
import Synchronization

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
