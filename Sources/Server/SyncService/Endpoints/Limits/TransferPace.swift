/// Whether one transfer keeps up the least average rate.
///
/// A bucket of time: waiting for the phone drains it, every byte that moves fills it by the time that the byte may take at
/// the least rate. Only waiting for the phone counts, never for a cloud. What a fast phone saves up is bounded, so that a
/// transfer cannot live for hours on a burst at its beginning, and large enough for the buffers on the way, which hand
/// bytes on in lumps: up to half a MiB, which is 116 s at 4 KiB/s.
public struct TransferPace: Sendable, Equatable {
    /// What a transfer may save up, in terms of the grace that it begins with.
    public static let savingsPerGrace = 4

    private let bytesPerSecond: Int
    private let largest: Duration
    private var left: Duration

    /// - Parameters:
    ///   - bytesPerSecond: the least rate, at least 1.
    ///   - grace: for how long a transfer may stand still at its beginning.
    public init(bytesPerSecond: Int, grace: Duration) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        largest = grace * Self.savingsPerGrace
        left = grace
    }

    /// Whether the transfer may go on.
    public var isKept: Bool { left >= .zero }

    /// The longest time for which a transfer may stand still.
    public var longestStandstill: Duration { largest }

    /// Takes note of bytes for which the phone was waited for.
    public mutating func moved(_ bytes: Int, in time: Duration) {
        let earned = Duration.microseconds(Int64(bytes) * 1_000_000 / Int64(bytesPerSecond))
        left = min(left - time + earned, largest)
    }
}
