import HTTPTransport
import Synchronization
import TestSupport
import Testing

@Suite("Back-off")
struct BackoffTests {
    @Test("Delays increase, with jitter, and end with the last attempt")
    func growth() {
        let record = PauseRecord()
        let backoff = record.backoff(attempts: 5)

        let allowed = (1...5).map { backoff.wait(before: $0, retryAfter: nil, deadline: .after(.seconds(100))) }

        #expect(allowed == [true, true, true, true, false])
        let ceilings: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4)]
        #expect(record.pauses.count == 4)
        #expect(zip(record.pauses, ceilings).allSatisfy { (.zero...$1).contains($0) })
    }

    @Test("The provider's requested delay is respected, plus up to a tenth")
    func retryAfter() {
        let record = PauseRecord()

        #expect(record.backoff().wait(before: 1, retryAfter: .seconds(10), deadline: .after(.seconds(100))))

        #expect(record.pauses.allSatisfy { (.seconds(10)...Duration.seconds(11)).contains($0) })
    }

    @Test("A delay beyond the deadline causes no wait")
    func deadline() {
        let record = PauseRecord()

        #expect(!record.backoff().wait(before: 1, retryAfter: .seconds(10), deadline: .after(.seconds(9))))
        #expect(!record.backoff().pause(.seconds(10), deadline: .after(.seconds(9))))

        #expect(record.pauses.isEmpty)
    }

    @Test("With a single attempt no caller waits for a provider, regardless of the requested delay")
    func singleAttempt() {
        let record = PauseRecord()
        let backoff = record.backoff(attempts: 1)

        for retryAfter in [nil, Duration.zero, .milliseconds(1), .seconds(6)] {
            #expect(!backoff.wait(before: 1, retryAfter: retryAfter, deadline: .after(.seconds(100))))
        }

        #expect(record.pauses.isEmpty)
    }

    @Test("The number of waiting threads is limited, in total and per service, and each place is released")
    func places() {
        let most = Atomic(0)
        let refused = Mutex<[String?]>([])
        let places = SleepingPlaces(3, perService: 2)
        // Each wait begins while the earlier ones are in progress.
        @Sendable func wait(_ services: ArraySlice<String?>) {
            guard let service = services.first else { return }
            let backoff = Backoff(places: places) { _ in
                most.add(1, ordering: .relaxed)
                wait(services.dropFirst())
            }
            if !backoff.wait(before: 1, retryAfter: .seconds(1), deadline: .after(.seconds(9)), for: service) {
                refused.withLock { $0.append(service) }
                wait(services.dropFirst())
            }
        }

        for _ in 0..<2 {
            wait(["google", "google", "google", "dropbox", "s3", nil])
            #expect(refused.withLock { $0 } == ["google", "s3", nil])
            refused.withLock { $0 = [] }
        }
        #expect(most.load(ordering: .relaxed) == 6)
        wait([nil, nil, nil, nil])
        #expect(refused.withLock { $0 } == [nil])
    }

    @Test("A deadline in the past counts as passed, and the earlier of two deadlines applies")
    func deadlines() {
        #expect(Deadline.after(.zero).hasPassed)
        #expect(Deadline.after(.seconds(-5)).remaining == .zero)
        #expect(Deadline.after(.seconds(50)).orAfter(.seconds(5)).remaining <= .seconds(5))
        #expect(Deadline.after(.seconds(5)).orAfter(.seconds(50)).remaining <= .seconds(5))
    }
}
