import HTTPTransport
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

    @Test("The provider's delay is respected, plus up to a tenth")
    func retryAfter() {
        let record = PauseRecord()

        #expect(record.backoff().wait(before: 1, retryAfter: .seconds(10), deadline: .after(.seconds(100))))

        #expect(record.pauses.allSatisfy { (.seconds(10)...Duration.seconds(11)).contains($0) })
    }

    @Test("A delay beyond the deadline is not waited for")
    func deadline() {
        let record = PauseRecord()

        #expect(!record.backoff().wait(before: 1, retryAfter: .seconds(10), deadline: .after(.seconds(9))))
        #expect(!record.backoff().pause(.seconds(10), deadline: .after(.seconds(9))))

        #expect(record.pauses.isEmpty)
    }

    @Test("A deadline in the past has passed, and the earlier of two counts")
    func deadlines() {
        #expect(Deadline.after(.zero).hasPassed)
        #expect(Deadline.after(.seconds(-5)).remaining == .zero)
        #expect(Deadline.after(.seconds(50)).orAfter(.seconds(5)).remaining <= .seconds(5))
        #expect(Deadline.after(.seconds(5)).orAfter(.seconds(50)).remaining <= .seconds(5))
    }
}
