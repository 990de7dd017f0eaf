import Synchronization

/// Waits between attempts: truncated exponential back-off with full jitter, or exactly as long as the provider says.
///
/// A wait holds the thread that makes it. A process whose threads are awaited by others gives it ``SleepingPlaces``, and
/// one whose threads must never wait for a provider allows a single attempt (docs/adr/0093-no-thread-waits-uncounted.md).
public struct Backoff: Sendable {
    /// Total number of attempts, including the first; 1 for no wait between attempts.
    public var attempts: Int
    private let places: SleepingPlaces?
    private let pause: @Sendable (Duration) -> Void

    /// - Parameters:
    ///   - places: how many threads may wait at a time; `nil` for any number.
    ///   - pause: blocks the calling thread; tests pass one that does not.
    public init(attempts: Int = 5, places: SleepingPlaces? = nil, pause: @escaping @Sendable (Duration) -> Void) {
        self.attempts = attempts
        self.places = places
        self.pause = pause
    }

    /// Waits before attempt number `attempt` (the second is 1) if that fits before `deadline`.
    ///
    /// - Parameters:
    ///   - retryAfter: the wait that the provider asked for; up to a tenth is added, to spread the clients.
    ///   - service: for whom the caller waits: the name of a service, or the address of a server; `nil` for another request.
    /// - Returns: `false` if there is no time, no attempt or no ``SleepingPlaces`` left.
    public func wait(before attempt: Int, retryAfter: Duration?, deadline: Deadline, for service: String? = nil) -> Bool
    {
        guard attempt < attempts else { return false }
        let delay: Duration
        if let retryAfter {
            delay = retryAfter + retryAfter * Double.random(in: 0...0.1)
        } else {
            let ceiling = min(64.0, Double(1 << min(attempt - 1, 6)) * 0.5)
            delay = .seconds(Double.random(in: 0...ceiling))
        }
        return pause(delay, deadline: deadline, for: service)
    }

    /// Waits for `duration` if that fits before `deadline`, and a place is free; `false` if it was not waited for.
    public func pause(_ duration: Duration, deadline: Deadline, for service: String? = nil) -> Bool {
        guard duration < deadline.remaining else { return false }
        guard let places else {
            pause(duration)
            return true
        }
        guard places.take(for: service) else { return false }
        defer { places.release(service) }
        pause(duration)
        return true
    }
}

/// How many threads of a process may wait at a time: for a provider that asked for a pause, or for what another request
/// has begun.
///
/// These waits are no calls, so that no ``Bulkhead`` counts them. One per process, shared by its threads.
public final class SleepingPlaces: Sendable {
    private struct Usage {
        var all = 0
        /// Without those that have none.
        var services: [String: Int] = [:]
    }

    private let maximum: Int
    private let maximumPerService: Int
    private let usage = Mutex(Usage())

    /// - Parameters:
    ///   - maximum: of all threads.
    ///   - maximumPerService: of those that wait for the same service.
    public init(_ maximum: Int, perService maximumPerService: Int) {
        self.maximum = maximum
        self.maximumPerService = maximumPerService
    }

    /// For a process with this number of threads: a quarter of them, half of that for one service. Beside the calls and the
    /// callers that a ``Bulkhead`` admits, a service so holds seven eighths of the threads at most.
    public static func of(threads: Int) -> SleepingPlaces {
        SleepingPlaces(max(1, threads / 4), perService: max(1, threads / 8))
    }

    fileprivate func take(for service: String?) -> Bool {
        usage.withLock { usage in
            guard usage.all < maximum else { return false }
            if let service {
                guard usage.services[service, default: 0] < maximumPerService else { return false }
                usage.services[service, default: 0] += 1
            }
            usage.all += 1
            return true
        }
    }

    fileprivate func release(_ service: String?) {
        usage.withLock { usage in
            usage.all -= 1
            guard let service, let count = usage.services[service] else { return }
            usage.services[service] = count > 1 ? count - 1 : nil
        }
    }
}
