/// Decides how long a slow phone's bytes collect before they are read.
///
/// They arrive in pieces of one or two kilobytes, each of which would wake a thread: with hundreds of slow phones that
/// is most of the cost of their uploads, and delays other requests. Unread bytes wait in the buffer of the web server's
/// connection (socket(7): 208 KiB), so the phone does not notice.
public struct ArrivalCoalescing: Sendable, Equatable {
    /// How long bytes collect. The length varies, since pauses of equal length that once ended together would always do
    /// so.
    static let pause: ClosedRange<Int64> = 500...1_000
    /// A phone is slow if it sends less than about 1 Mbit/s: the bytes of one pause fit into the buffer.
    static let slowBytesPerSecond = 128 * 1024
    /// The minimum time over which the rate is measured.
    static let observation: Duration = .seconds(1)

    private var began: ContinuousClock.Instant
    private var bytes = 0
    private var isSlow = false

    /// - Parameter now: when reading of the body begins.
    public init(at now: ContinuousClock.Instant) { began = now }

    /// Records bytes that have arrived.
    public mutating func arrived(_ count: Int, at now: ContinuousClock.Instant) {
        bytes += count
        let time = began.duration(to: now)
        guard time >= Self.observation else { return }
        isSlow = .seconds(1) * bytes < time * Self.slowBytesPerSecond
        (began, bytes) = (now, 0)
    }

    /// How long to wait before the next read if no bytes have arrived; `nil` for no wait.
    /// - Parameter missingBytes: how much of the body has not been read. Its end is read without a pause: a slow phone
    ///   would not fill one.
    public func pause(before missingBytes: Int64) -> Duration? {
        guard isSlow, missingBytes > Int64(Self.slowBytesPerSecond) else { return nil }
        return .milliseconds(Int64.random(in: Self.pause))
    }
}
