import Synchronization

/// Waits between attempts: truncated exponential back-off with full jitter, or the wait that the provider requests.
///
/// A wait occupies its thread. A process whose threads serve other requests limits waits with ``SleepingPlaces``, and a
/// process whose threads must never wait for a provider allows a single attempt
/// (docs/adr/0093-no-thread-waits-uncounted.md).
public struct Backoff: Sendable {
    /// Total number of attempts, including the first; 1 for no wait between attempts.
    public var attempts: Int
    private let places: SleepingPlaces?
    private let pause: @Sendable (Duration) -> Void

    /// - Parameters:
    ///   - places: limits how many threads may wait at a time; `nil` for no limit.
    ///   - pause: blocks the calling thread; tests pass one that does not.
    public init(attempts: Int = 5, places: SleepingPlaces? = nil, pause: @escaping @Sendable (Duration) -> Void) {
        self.attempts = attempts
        self.places = places
        self.pause = pause
    }

    /// Waits before attempt number `attempt` (the second is 1) if that fits before `deadline`.
    ///
    /// - Parameters:
    ///   - retryAfter: the wait that the provider requested; up to a tenth is added, to spread the clients.
    ///   - service: the service for which the caller waits: its name, or the address of a server; `nil` when waiting
    ///     for another request.
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

    /// Waits for `duration` if that fits before `deadline` and a place is free; otherwise returns `false` without
    /// waiting.
    public func pause(_ duration: Duration, deadline: Deadline, for service: String? = nil) -> Bool {
        guard duration < deadline.remaining else { return false }
        return inPlace(for: service) { pause(duration) } != nil
    }

    /// Runs `wait`, which blocks the thread until another one has finished its work, or a time is over.
    /// - Returns: `nil`, without waiting, if no place is free.
    public func inPlace<Outcome>(for service: String?, _ wait: () -> Outcome) -> Outcome? {
        guard let places else { return wait() }
        guard places.take(for: service) else { return nil }
        defer { places.release(service) }
        return wait()
    }
}

/// Limits how many threads of a process may wait at a time for a provider that requested a pause, or for work begun by
/// another request.
///
/// These waits are not calls, so no ``Bulkhead`` counts them. One per process, shared by its threads.
public final class SleepingPlaces: Sendable {
    private struct Usage {
        var all = 0
        /// Contains only services with waiting threads.
        var services: [String: Int] = [:]
    }

    private let maximum: Int
    private let maximumPerService: Int
    private let usage = Mutex(Usage())

    /// - Parameters:
    ///   - maximum: for all threads.
    ///   - maximumPerService: for threads that wait for the same service.
    public init(_ maximum: Int, perService maximumPerService: Int) {
        self.maximum = maximum
        self.maximumPerService = maximumPerService
    }

    /// For a process with this number of threads: a quarter of them, half of that for one service. Together with the
    /// calls and callers that a ``Bulkhead`` admits, a service holds at most seven eighths of the threads.
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
