import Testing

@testable import HTTPTransport

@Suite("Circuit breaker")
struct CircuitBreakerTests {
    private let start = ContinuousClock.now

    /// A circuit after `count` consecutive failures, each of a call that took `duration`.
    private func failing(_ count: Int, each duration: Duration) -> (CircuitBreaker, ContinuousClock.Instant) {
        var circuit = CircuitBreaker()
        var now = start
        for _ in 0..<count {
            let admission = circuit.admit(at: now)
            circuit.failed(admission, began: now, at: now + duration)
            now += duration
        }
        return (circuit, now)
    }

    @Test("A circuit opens after consecutive failures over a period of time, and returns the remaining time")
    func opens() {
        var (circuit, now) = failing(CircuitBreaker.failuresToOpen - 1, each: .seconds(1))
        #expect(circuit.isClosed)
        circuit.failed(.go, began: now, at: now)
        #expect(!circuit.isClosed)
        #expect(circuit.admit(at: now + .seconds(3)) == .refused(retryAfter: .seconds(2)))
    }

    @Test("A circuit opens neither for a burst of failures at one moment nor for failures with a success between them")
    func staysClosed() {
        var (circuit, now) = failing(100, each: .milliseconds(10))
        #expect(circuit.isClosed)
        (circuit, now) = failing(CircuitBreaker.failuresToOpen - 1, each: .seconds(9))
        circuit.succeeded()
        circuit.failed(.go, began: now, at: now + .seconds(9))
        #expect(circuit.isClosed)
    }

    @Test("Calls that began together and hung are timed from their start")
    func parallel() {
        var circuit = CircuitBreaker()
        for _ in 0..<CircuitBreaker.failuresToOpen { circuit.failed(.go, began: start, at: start + .seconds(9)) }
        #expect(!circuit.isClosed)
    }

    @Test("After the open period one call is a probe; success closes it, failure doubles the period, up to 30 s")
    func probes() {
        var (circuit, now) = failing(CircuitBreaker.failuresToOpen, each: .seconds(1))
        for pause: Duration in [.seconds(5), .seconds(10), .seconds(20), .seconds(30), .seconds(30)] {
            #expect(circuit.admit(at: now + pause - .milliseconds(1)) == .refused(retryAfter: .milliseconds(1)))
            now += pause
            #expect(circuit.admit(at: now) == .probe)
            #expect(circuit.admit(at: now) == .refused(retryAfter: CircuitBreaker.pauseWhileTrying))
            // Calls that began earlier do not decide.
            circuit.failed(.go, began: start, at: now)
            #expect(circuit.admit(at: now) == .refused(retryAfter: CircuitBreaker.pauseWhileTrying))
            circuit.failed(.probe, began: now, at: now)
        }
        now += .seconds(30)
        #expect(circuit.admit(at: now) == .probe)
        circuit.succeeded()
        #expect(circuit.isClosed)
        #expect(circuit.admit(at: now) == .go)
    }

    @Test("A probe without a result lets the next call be the probe")
    func undecided() {
        var (circuit, now) = failing(CircuitBreaker.failuresToOpen, each: .seconds(1))
        now += .seconds(10)
        #expect(circuit.admit(at: now) == .probe)
        circuit.ended(.probe, at: now)
        #expect(circuit.admit(at: now) == .probe)
    }
}
