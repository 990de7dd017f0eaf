import Synchronization

/// Keeps a service that hangs from tying up the threads that serve all other requests.
///
/// It limits each service's calls in progress: a few more callers wait briefly, and the rest are rejected at once. One
/// per process, shared by its threads; no lock is held during a call.
public final class Bulkhead: TransportDecorator {
    /// How much of a process one service may use.
    public struct Limits: Equatable, Sendable {
        /// Maximum number of calls in progress.
        public var calls: Int
        /// Maximum number of callers that wait for one of them to end.
        public var waiting: Int
        /// The maximum wait of a caller.
        public var patience: Duration

        public init(calls: Int, waiting: Int, patience: Duration = .seconds(1)) {
            self.calls = calls
            self.waiting = waiting
            self.patience = patience
        }

        /// For a process with this number of threads for short requests: half of them may be in calls and a quarter may
        /// wait, so that a quarter always remains for requests that need another service, or none.
        public static func ofShortRequests(threads: Int) -> Limits {
            Limits(calls: max(1, threads / 2), waiting: max(1, threads / 4))
        }

        /// For a process whose calls last as long as a transfer: three quarters of its threads may be in calls.
        public static func ofTransfers(threads: Int) -> Limits {
            Limits(calls: max(1, threads * 3 / 4), waiting: max(1, threads / 16))
        }

        /// How many of ``calls`` may go to one server named by people: one that hangs must leave room for the same
        /// service's calls to other servers.
        var callsPerServer: Int { max(1, calls / 4) }

        /// How many calls may go to all servers without known users, for all services together: looking up a made-up
        /// name may take as long as a server that hangs. Callers do not wait for one of these calls to end.
        var ofUnproved: Limits { Limits(calls: callsPerServer, waiting: 0, patience: patience) }
    }

    private struct Usage {
        var calls = 0
        var waiting = 0
        /// Calls in progress to each server named by people; contains only servers with calls.
        var servers: [String: Int] = [:]

        /// Takes a slot, if one is free.
        mutating func take(for server: String?, _ limits: Limits) -> Bool {
            guard calls < limits.calls else { return false }
            if let server {
                guard servers[server, default: 0] < limits.callsPerServer else { return false }
                servers[server, default: 0] += 1
            }
            calls += 1
            return true
        }

        mutating func release(_ server: String?) {
            calls -= 1
            guard let server, let count = servers[server] else { return }
            servers[server] = count > 1 ? count - 1 : nil
        }
    }

    /// A call in progress.
    public struct Slot {
        fileprivate var share: Share
        fileprivate var server: String?
    }

    /// Calls that are counted together.
    fileprivate enum Share: Hashable {
        case service(ExternalService)
        case unproved

        init(_ request: OutgoingRequest) { self = request.isUnproved ? .unproved : .service(request.call.service) }
    }

    private static let pollInterval: Duration = .milliseconds(5)

    private let limits: Limits
    private let pause: @Sendable (Duration) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let shares = Mutex<[Share: Usage]>([:])

    /// - Parameters:
    ///   - pause: blocks the calling thread; tests pass one that does not.
    ///   - now: the clock; tests pass one that they control.
    public init(
        limits: Limits, pause: @escaping @Sendable (Duration) -> Void,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.limits = limits
        self.pause = pause
        self.now = now
    }

    /// Takes one of the service's slots; waits for one if none is free and not too many callers are waiting. An early
    /// request does not wait, and leaves half of the slots free.
    /// - Throws: ``TransportError/withheld(_:)`` with ``WithheldCall/busy``.
    public func begin(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Slot {
        enum Answer { case taken, wait, refused }
        let slot = Slot(share: Share(request), server: request.server)
        let (share, limits) = (slot.share, slot.share == .unproved ? limits.ofUnproved : limits)
        let answer = shares.withLock { shares -> Answer in
            var usage = shares[share] ?? Usage()
            defer { shares[share] = usage }
            if request.isEarly, usage.calls >= limits.calls / 2 { return .refused }
            if usage.take(for: slot.server, limits) { return .taken }
            guard !request.isEarly, usage.waiting < limits.waiting else { return .refused }
            usage.waiting += 1
            return .wait
        }
        switch answer {
        case .taken: return slot
        case .refused: throw .withheld(.busy)
        case .wait: break
        }
        let end = now() + min(limits.patience, deadline.remaining)
        while true {
            pause(Self.pollInterval)
            let isOver = now() >= end
            let isTaken = shares.withLock { shares -> Bool in
                var usage = shares[share] ?? Usage()
                defer { shares[share] = usage }
                let isFree = usage.take(for: slot.server, limits)
                if isFree || isOver { usage.waiting -= 1 }
                return isFree
            }
            if isTaken { return slot }
            if isOver { throw .withheld(.busy) }
        }
    }

    /// Releases the slot.
    public func ended(_ slot: Slot, _ result: CallResult) {
        shares.withLock { $0[slot.share]?.release(slot.server) }
    }
}
