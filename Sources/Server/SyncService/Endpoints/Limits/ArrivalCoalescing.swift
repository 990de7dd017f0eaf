/// When a slow phone's bytes are left to collect before they are read.
///
/// They come in pieces of one or two kilobytes, each of which would wake a thread: with hundreds of slow phones that is
/// most of what their uploads cost, and other requests wait meanwhile. Bytes that are not read yet wait in the buffer of the
/// web server's connection (socket(7): 208 KiB), so the phone does not notice.
public struct ArrivalCoalescing: Sendable, Equatable {
    /// How long bytes collect. Of pauses of one length, those that a busy moment has made end together would do so for ever.
    static let pause: ClosedRange<Int64> = 500...1_000
    /// A phone is slow if it sends less than about 1 Mbit/s: what comes in a pause has room in the buffer.
    static let slowBytesPerSecond = 128 * 1024
    /// The rate is that of at least so much time.
    static let observation: Duration = .seconds(1)

    private var began: ContinuousClock.Instant
    private var bytes = 0
    private var isSlow = false

    /// - Parameter now: when the body begins to be read.
    public init(at now: ContinuousClock.Instant) { began = now }

    /// Records bytes that have arrived.
    public mutating func arrived(_ count: Int, at now: ContinuousClock.Instant) {
        bytes += count
        let time = began.duration(to: now)
        guard time >= Self.observation else { return }
        isSlow = .seconds(1) * bytes < time * Self.slowBytesPerSecond
        (began, bytes) = (now, 0)
    }

    /// How long to wait before the next read if nothing is at hand; `nil` for not at all.
    /// - Parameter missingBytes: how much of the body has not been read. Its end is not left to wait: a slow phone does not
    ///   bring so much in one pause.
    public func pause(before missingBytes: Int64) -> Duration? {
        guard isSlow, missingBytes > Int64(Self.slowBytesPerSecond) else { return nil }
        return .milliseconds(Int64.random(in: Self.pause))
    }
}
