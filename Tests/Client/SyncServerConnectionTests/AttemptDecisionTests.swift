import SyncProtocol
import Testing

@testable import SyncServerConnection

@Suite("Deciding whether to retry")
struct AttemptDecisionTests {
    private static let lost = ServerConnectionError(.connectionLost, isRetryable: true)
    private static let busy = ServerConnectionError(.busy, status: 429, isRetryable: true)
    private static let failed = ServerConnectionError(.serverFailed, status: 502, isRetryable: true)

    private func decide(
        _ error: ServerConnectionError, _ repetition: Repetition, extensions: ServerExtensions = .unknown,
        wasSent: Bool = true
    ) -> AttemptDecisions.Decision {
        var decisions = AttemptDecisions(policy: RetryPolicy(), repetition: repetition)
        return decisions.decide(
            after: error, hasCredentials: true, wasSent: wasSent, extensions: extensions, fraction: 1)
    }

    @Test("Delays double up to the maximum, with jitter")
    func delays() {
        let policy = RetryPolicy(maximumAttempts: 10)
        let longest = (1...9).map { policy.delay(afterAttempt: $0, retryAfter: nil, fraction: 1) }
        #expect(longest == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
        #expect(policy.delay(afterAttempt: 3, retryAfter: nil, fraction: 0) == .zero)
        #expect(policy.delay(afterAttempt: 3, retryAfter: nil, fraction: 0.25) == .seconds(1))
        #expect(policy.delay(afterAttempt: 10, retryAfter: nil, fraction: 1) == nil)
    }

    @Test("The delay is never shorter than Retry-After; if that exceeds the maximum, the request is not retried")
    func retryAfter() {
        let policy = RetryPolicy()
        #expect(policy.delay(afterAttempt: 1, retryAfter: .seconds(30), fraction: 0) == .seconds(30))
        #expect(policy.delay(afterAttempt: 4, retryAfter: .seconds(3), fraction: 1) == .seconds(8))
        #expect(policy.delay(afterAttempt: 1, retryAfter: .seconds(60), fraction: 0) == .seconds(60))
        #expect(policy.delay(afterAttempt: 1, retryAfter: .seconds(61), fraction: 0) == nil)
    }

    @Test("Idempotent requests are repeated after any failure")
    func always() {
        for error in [Self.lost, Self.busy, Self.failed] {
            #expect(decide(error, .always) == .retry(after: .seconds(1)))
        }
    }

    @Test("Requests that may have been processed are repeated only if the server recognises them")
    func carriedOut() {
        for error in [Self.lost, Self.failed] {
            #expect(decide(error, .ifNotCarriedOut) == .fail)
            #expect(decide(error, .ifNotCarriedOut, extensions: .present) == .fail)
            #expect(decide(error, .ifRecognised) == .fail)
            #expect(decide(error, .ifRecognised, extensions: .absent) == .fail)
            #expect(decide(error, .ifRecognised, extensions: .present) == .retry(after: .seconds(1)))
        }
    }

    @Test("Requests that were not sent, or rejected before processing, are repeated")
    func notCarriedOut() {
        for repetition in [Repetition.ifNotCarriedOut, .ifRecognised] {
            #expect(decide(Self.busy, repetition) == .retry(after: .seconds(1)))
            #expect(decide(Self.lost, repetition, wasSent: false) == .retry(after: .seconds(1)))
        }
    }

    @Test("Requests that must not be repeated are sent once")
    func never() {
        for error in [Self.lost, Self.busy, Self.failed, ServerConnectionError(.signInRequired, status: 401)] {
            #expect(decide(error, .never, extensions: .present, wasSent: false) == .fail)
        }
    }

    @Test("Definitive errors, a closed server and a cancelled task end the attempts")
    func definitive() {
        for error in [
            ServerConnectionError(.refused, status: 409), ServerConnectionError(.serverFailed, status: 500),
            ServerConnectionError(.serverUnavailable, status: 503, isRetryable: true),
            ServerConnectionError(.cancelled, isRetryable: true),
        ] {
            #expect(decide(error, .always, extensions: .present) == .fail)
        }
    }

    @Test("Rejected credentials are replaced once, which does not count as an attempt")
    func refresh() {
        let refused = ServerConnectionError(.signInRequired, status: 401)
        var decisions = AttemptDecisions(policy: RetryPolicy(), repetition: .ifNotCarriedOut)
        func next(hasCredentials: Bool = true, _ error: ServerConnectionError) -> AttemptDecisions.Decision {
            decisions.decide(
                after: error, hasCredentials: hasCredentials, wasSent: true, extensions: .unknown, fraction: 1)
        }
        #expect(next(hasCredentials: false, refused) == .fail)
        #expect(next(ServerConnectionError(.signInRequired, status: 401, serverCode: .known(.userUnknown))) == .fail)
        #expect(next(refused) == .refreshCredentials)
        #expect(decisions.attempt == 1)
        #expect(next(refused) == .fail)
    }
}
