import Testing

@testable import SyncService

@Suite("Pauses that collect the bytes of slow phones")
struct ArrivalCoalescingTests {
    private static let muchMissing: Int64 = 1 << 30
    private static let slowBytes = ArrivalCoalescing.slowBytesPerSecond

    private let start = ContinuousClock.now

    /// The state after `bytes` have arrived, one number for each second.
    private func arrivals(_ bytes: Int...) -> ArrivalCoalescing {
        var arrivals = ArrivalCoalescing(at: start)
        for (second, bytes) in bytes.enumerated() {
            // Half of them in the middle of the second.
            arrivals.arrived(bytes / 2, at: start + .milliseconds(1_000 * second + 500))
            arrivals.arrived(bytes - bytes / 2, at: start + .milliseconds(1_000 * (second + 1)))
        }
        return arrivals
    }

    @Test("No pause before a phone has proved to be slow")
    func unknown() {
        var arrivals = ArrivalCoalescing(at: start)
        #expect(arrivals.pause(before: Self.muchMissing) == nil)
        arrivals.arrived(1, at: start + .milliseconds(999))
        #expect(arrivals.pause(before: Self.muchMissing) == nil)
        arrivals.arrived(1, at: start + .milliseconds(1_000))
        #expect(arrivals.pause(before: Self.muchMissing) != nil)
    }

    @Test("Reads pause only below the rate of a slow phone, measured over the last second")
    func rate() {
        #expect(arrivals(Self.slowBytes - 1).pause(before: Self.muchMissing) != nil)
        #expect(arrivals(Self.slowBytes).pause(before: Self.muchMissing) == nil)
        #expect(arrivals(1, Self.slowBytes).pause(before: Self.muchMissing) == nil)
        #expect(arrivals(10 * Self.slowBytes, 1).pause(before: Self.muchMissing) != nil)
    }

    @Test("No pause if the body might end during it")
    func end() {
        let slow = arrivals(1)
        #expect(slow.pause(before: Int64(Self.slowBytes) + 1) != nil)
        #expect(slow.pause(before: Int64(Self.slowBytes)) == nil)
        #expect(slow.pause(before: 0) == nil)
    }

    @Test("Pauses last up to a second, and differ in length")
    func length() {
        let slow = arrivals(1)
        let pauses = Set((0..<100).compactMap { _ in slow.pause(before: Self.muchMissing) })
        #expect(pauses.allSatisfy { $0 >= .milliseconds(500) && $0 <= .seconds(1) })
        #expect(pauses.count > 10)
    }
}
