import HTTPTypes
import Synchronization

/// Why a call to a provider was not made.
public enum WithheldCall: Error, Equatable, Sendable {
    /// This service already has its maximum number of calls in progress.
    case busy
    /// The host has failed repeatedly; it is tried again after that time.
    case circuitOpen(retryAfter: Duration)
}

/// Keeps a service that hangs or fails from tying up the threads that serve all other requests.
///
/// A bulkhead for each service limits its calls in progress: a few more callers wait briefly, and the rest are rejected
/// at once. A circuit breaker for each of its hosts: a host that has failed for a while is not called, except for a
/// single probe now and then. One per process, shared by its threads; no lock is held during a call.
public final class ProviderGate: Sendable {
    /// How much of a process one service may use.
    public struct Limits: Equatable, Sendable {
        /// Maximum number of calls in progress.
        public var calls: Int
        /// Maximum number of callers that wait for one of them to end.
        public var waiting: Int
        /// How long a caller waits at most.
        public var patience: Duration

        public init(calls: Int, waiting: Int, patience: Duration = .seconds(1)) {
            self.calls = calls
            self.waiting = waiting
            self.patience = patience
        }

        /// For a process with this number of threads that answer short requests: half of them may be in calls and a
        /// quarter may wait, so that a quarter is always left for requests that need another service, or none.
        public static func ofShortRequests(threads: Int) -> Limits {
            Limits(calls: max(1, threads / 2), waiting: max(1, threads / 4))
        }

        /// For a process whose calls last as long as a transfer: three quarters of its threads may be in calls.
        public static func ofTransfers(threads: Int) -> Limits {
            Limits(calls: max(1, threads * 3 / 4), waiting: max(1, threads / 16))
        }
    }

    /// Called when a host is no longer called, or is called again.
    public typealias CircuitObserver = @Sendable (ExternalService, _ host: String, _ isOpen: Bool) -> Void

    /// If a call had less time than this, its timeout says nothing about the host.
    private static let shortestMeaningfulTimeout: Duration = .seconds(2)
    private static let pollInterval: Duration = .milliseconds(5)

    private struct Usage {
        var calls = 0
        var waiting = 0
    }

    private struct State {
        var services: [ExternalService: Usage] = [:]
        var circuits: [String: CircuitBreaker] = [:]
    }

    private let limits: Limits
    private let pause: @Sendable (Duration) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let observer: CircuitObserver
    private let state = Mutex(State())

    /// - Parameters:
    ///   - pause: blocks the calling thread; tests pass one that does not.
    ///   - now: the clock; tests pass one that they control.
    public init(
        limits: Limits, pause: @escaping @Sendable (Duration) -> Void,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        observer: @escaping CircuitObserver = { _, _, _ in }
    ) {
        self.limits = limits
        self.pause = pause
        self.now = now
        self.observer = observer
    }

    /// The same transport, behind the gate: a call that is withheld fails with ``TransportError/withheld(_:)``.
    public func guarding(_ transport: Transport) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                let pass = try self.enter(request, deadline)
                do throws(TransportError) {
                    let reply = try transport.send(request, by: deadline)
                    self.leave(pass, .init(status: reply.status))
                    return reply
                } catch {
                    self.leave(pass, self.outcome(of: error, pass))
                    throw error
                }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                let pass = try self.enter(request, deadline)
                var hasAnswered = false
                do throws(TransportError) {
                    let reply = try transport.stream(
                        request, by: deadline,
                        head: { reply in
                            // The body after the head may take as long as a phone needs.
                            hasAnswered = true
                            self.note(.init(status: reply.status), pass)
                            return head(reply)
                        }, body: body)
                    self.leave(pass, nil)
                    return reply
                } catch {
                    self.leave(pass, hasAnswered ? nil : self.outcome(of: error, pass))
                    throw error
                }
            })
    }

    // MARK: Passing

    private struct Pass {
        var service: ExternalService
        var host: String
        var admission: CircuitBreaker.Admission
        var start: ContinuousClock.Instant
    }

    /// What a call says about its host.
    private enum Outcome {
        case success
        case failure
        case nothing

        init(status: Int) { self = [502, 503, 504].contains(status) ? .failure : .success }
    }

    private func outcome(of error: TransportError, _ pass: Pass) -> Outcome {
        switch error {
        case .notSent, .interrupted: .failure
        case .timedOut: now() - pass.start >= Self.shortestMeaningfulTimeout ? .failure : .nothing
        case .replyTooLarge: .success
        case .cancelled, .refused, .withheld: .nothing
        }
    }

    private func enter(_ request: OutgoingRequest, _ deadline: Deadline) throws(TransportError) -> Pass {
        let service = request.call.service
        // For an entry that matches many hosts, the host's own name is not kept.
        let host = HTTPSAddress(request.url).flatMap { service.entry(for: $0.host) } ?? service.name
        try takePlace(service, deadline)
        let now = now()
        let admission = state.withLock { state in
            let admission = state.circuits[host, default: CircuitBreaker()].admit(at: now)
            if case .refused = admission { state.services[service]?.calls -= 1 }
            return admission
        }
        if case .refused(let retryAfter) = admission { throw .withheld(.circuitOpen(retryAfter: retryAfter)) }
        return Pass(service: service, host: host, admission: admission, start: now)
    }

    /// Takes one of the service's slots; waits for one if none is free and not too many callers are waiting.
    private func takePlace(_ service: ExternalService, _ deadline: Deadline) throws(TransportError) {
        enum Answer { case taken, wait, refused }
        let limits = limits
        let answer = state.withLock { state -> Answer in
            var usage = state.services[service] ?? Usage()
            defer { state.services[service] = usage }
            if usage.calls < limits.calls {
                usage.calls += 1
                return .taken
            }
            guard usage.waiting < limits.waiting else { return .refused }
            usage.waiting += 1
            return .wait
        }
        switch answer {
        case .taken: return
        case .refused: throw .withheld(.busy)
        case .wait: break
        }
        let end = now() + min(limits.patience, deadline.remaining)
        while true {
            pause(Self.pollInterval)
            let isOver = now() >= end
            let isTaken = state.withLock { state -> Bool in
                var usage = state.services[service] ?? Usage()
                defer { state.services[service] = usage }
                let isFree = usage.calls < limits.calls
                if isFree { usage.calls += 1 }
                if isFree || isOver { usage.waiting -= 1 }
                return isFree
            }
            if isTaken { return }
            if isOver { throw .withheld(.busy) }
        }
    }

    /// Releases the slot.
    /// - Parameter outcome: `nil` if it has already been recorded.
    private func leave(_ pass: Pass, _ outcome: Outcome?) {
        state.withLock { $0.services[pass.service]?.calls -= 1 }
        if let outcome { note(outcome, pass) }
    }

    private func note(_ outcome: Outcome, _ pass: Pass) {
        let now = now()
        let (wasClosed, isClosed) = state.withLock { state in
            var circuit = state.circuits[pass.host] ?? CircuitBreaker()
            let wasClosed = circuit.isClosed
            switch outcome {
            case .success: circuit.succeeded()
            case .failure: circuit.failed(pass.admission, began: pass.start, at: now)
            case .nothing: circuit.ended(pass.admission, at: now)
            }
            state.circuits[pass.host] = circuit
            return (wasClosed, circuit.isClosed)
        }
        if wasClosed != isClosed { observer(pass.service, pass.host, !isClosed) }
    }
}
