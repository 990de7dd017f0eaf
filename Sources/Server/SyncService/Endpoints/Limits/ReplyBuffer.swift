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
