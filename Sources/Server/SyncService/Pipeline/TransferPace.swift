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

/// Determines the size of the buffer in which the bytes of a download wait for the web server.
///
/// With a fast phone, the usual buffer soon fills up, and responder and web server then wait for each other: twice the
/// size reduces the time for a gibibyte by a tenth, and the processor time by 6 %. For a slow phone the extra memory
/// would be useless, and once a buffer is full, the responder waits until three quarters of it are free (unix(7)),
/// which at the minimum rate takes longer than ``TransferPace`` allows. So the buffer is enlarged when a phone has
/// proved to be fast, by more bytes than the buffers in between hold, and reduced when the phone falls behind.
public struct ReplyBuffer: Sendable, Equatable {
    public enum Size: Sendable {
        case usual, large
    }

    /// More than the web server and the kernel buffer for a phone that receives nothing.
    static let proofBytes = 768 * 1024
    /// The minimum rate of a fast phone.
    static let proofBytesPerSecond = 8 * 1024 * 1024
    /// A write that takes longer means a slow phone.
    static let longestWrite: Duration = .seconds(1)

    private var bytes = 0
    private var time: Duration = .zero
    private var size: Size?

    public init() {}

    /// Records a write of the file's bytes.
    /// - Parameter time: the duration of the write and of the wait for its bytes.
    /// - Returns: the new size of the buffer; `nil` for no change.
    public mutating func wrote(_ count: Int, in time: Duration) -> Size? {
        bytes += count
        self.time += time
        switch size {
        case nil where bytes >= Self.proofBytes:
            let isFast = self.time * Self.proofBytesPerSecond <= .seconds(1) * bytes
            size = isFast ? .large : .usual
            return isFast ? .large : nil
        case .large where time > Self.longestWrite:
            size = .usual
            return .usual
        default: return nil
        }
    }
}
