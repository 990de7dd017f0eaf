/// Measures how fast a phone's bytes arrive and how much time the cloud adds; determines the size of the parts.
struct PartPace {
    /// The number of bytes read before deciding whether the phone is fast.
    static let probeBytes = 128 * 1024
    /// A phone is fast if it sends at least this much, about 1 Mbit/s.
    private static let fastBytesPerSecond = 128.0 * 1024
    /// The first part of a fast phone.
    private static let firstPartBytes = 4 << 20
    private static let largestPartBytes = 8 << 20
    /// The cloud's time for a part should not exceed one twentieth of the part's arrival time.
    private static let arrivalsPerDelay = 20.0

    private(set) var isFast = false
    /// The size that the next part should have.
    private(set) var partBytes = PartBudget.smallestPartBytes

    private let now: () -> ContinuousClock.Instant
    private var sizeBytes = 0
    private var handedOut: ContinuousClock.Instant?
    private var receivingTime: Duration = .zero
    private var receivingTimeBefore: Duration = .zero

    /// - Parameter now: the clock; tests pass one that they control.
    init(now: @escaping () -> ContinuousClock.Instant) { self.now = now }

    /// Bytes have arrived after a wait.
    mutating func received(in time: Duration) { receivingTime += time }

    /// The first bytes have arrived.
    mutating func probed(_ bytes: Int) {
        isFast = Self.rate(bytes, receivingTime) >= Self.fastBytesPerSecond
        partBytes = isFast ? Self.firstPartBytes : PartBudget.smallestPartBytes
    }

    /// A part has been handed over for sending.
    mutating func handedOut(_ bytes: Int) {
        sizeBytes = bytes
        handedOut = now()
        receivingTimeBefore = receivingTime
    }

    /// The part that was handed over had arrived completely and is now in the cloud.
    mutating func ended() {
        guard let handedOut else { return }
        let delay = handedOut.duration(to: now()) - (receivingTime - receivingTimeBefore)
        let rate = Self.rate(sizeBytes, receivingTime)
        isFast = rate >= Self.fastBytesPerSecond
        let size = max(rate, 1) * (delay / .seconds(1)) * Self.arrivalsPerDelay
        partBytes =
            isFast
            ? Int(min(max(size, Double(PartBudget.smallestPartBytes)), Double(Self.largestPartBytes)))
            : PartBudget.smallestPartBytes
        receivingTime = .zero
        self.handedOut = nil
    }

    /// Bytes per second.
    private static func rate(_ bytes: Int, _ time: Duration) -> Double {
        Double(bytes) / max(time / .seconds(1), 0.000_001)
    }
}
