/// Checks whether one transfer keeps up the minimum average rate.
///
/// A bucket of time: waiting for the phone drains it, and every byte transferred refills it by the time that the byte
/// may take at the minimum rate. Only waiting for the phone counts, never waiting for a cloud. The bucket's size is
/// bounded, so that a transfer cannot live for hours on a burst at its beginning, but large enough for the buffers in
/// between, which pass bytes on in bursts: up to half a MiB, which is 116 s at 4 KiB/s.
public struct TransferPace: Sendable, Equatable {
    /// Size of the bucket, as a multiple of the initial grace period.
    public static let savingsPerGrace = 4

    private let bytesPerSecond: Int
    private let largest: Duration
    private var left: Duration

    /// - Parameters:
    ///   - bytesPerSecond: the minimum rate, at least 1.
    ///   - grace: how long a transfer may stall at its beginning.
    public init(bytesPerSecond: Int, grace: Duration) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        largest = grace * Self.savingsPerGrace
        left = grace
    }

    /// Whether the transfer may continue.
    public var isKept: Bool { left >= .zero }

    /// The longest time for which a transfer may stall.
    public var longestStandstill: Duration { largest }

    /// Records bytes transferred and the time spent waiting for the phone.
    public mutating func moved(_ bytes: Int, in time: Duration) {
        let earned = Duration.microseconds(Int64(bytes) * 1_000_000 / Int64(bytesPerSecond))
        left = min(left - time + earned, largest)
    }
}
