import Testing

@testable import HTTPTransport

@Suite("Circuit breaker")
struct CircuitBreakerTests {
    private let start = ContinuousClock.now

    /// A circuit that failed `count` times, each call taking `duration`, one after the other.
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

    @Test("It opens after failures in a row that have lasted, and says when it is worth asking again")
    func opens() {
        var (circuit, now) = failing(CircuitBreaker.failuresToOpen - 1, each: .seconds(1))
        #expect(circuit.isClosed)
        circuit.failed(.go, began: now, at: now)
        #expect(!circuit.isClosed)
        #expect(circuit.admit(at: now + .seconds(3)) == .refused(retryAfter: .seconds(2)))
    }

    @Test("A burst at one moment is no reason, nor are failures with a success between them")
    func staysClosed() {
        var (circuit, now) = failing(100, each: .milliseconds(10))
        #expect(circuit.isClosed)
        (circuit, now) = failing(CircuitBreaker.failuresToOpen - 1, each: .seconds(9))
        circuit.succeeded()
        circuit.failed(.go, began: now, at: now + .seconds(9))
        #expect(circuit.isClosed)
    }

    @Test("Calls that all began together and hung count from their beginning")
    func parallel() {
        var circuit = CircuitBreaker()
        for _ in 0..<CircuitBreaker.failuresToOpen { circuit.failed(.go, began: start, at: start + .seconds(9)) }
        #expect(!circuit.isClosed)
    }

    @Test("One call tries when the time is over; its success closes, its failure doubles the time, up to half a minute")
    func probes() {
        var (circuit, now) = failing(CircuitBreaker.failuresToOpen, each: .seconds(1))
        for pause: Duration in [.seconds(5), .seconds(10), .seconds(20), .seconds(30), .seconds(30)] {
            #expect(circuit.admit(at: now + pause - .milliseconds(1)) == .refused(retryAfter: .milliseconds(1)))
            now += pause
            #expect(circuit.admit(at: now) == .probe)
            #expect(circuit.admit(at: now) == .refused(retryAfter: CircuitBreaker.pauseWhileTrying))
            // What had begun earlier does not decide.
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

    @Test("A probe that ended without saying anything lets the next call try")
    func undecided() {
        var (circuit, now) = failing(CircuitBreaker.failuresToOpen, each: .seconds(1))
        now += .seconds(10)
        #expect(circuit.admit(at: now) == .probe)
        circuit.ended(.probe, at: now)
        #expect(circuit.admit(at: now) == .probe)
    }
}
