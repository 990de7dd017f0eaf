/// How large the buffer is in which the bytes of a download wait for the web server.
///
/// For a fast phone the usual one is soon full, and then responder and web server wait for each other: twice the size takes
/// a tenth off the time of a gibibyte, and 6 % off its processor time. For a slow phone it would be memory without a use,
/// and once it is full, the responder waits until three quarters of it are free (unix(7)), which at the minimum rate takes
/// longer than ``TransferPace`` allows. So it is enlarged when a phone has proved to be fast, by more bytes than the buffers
/// in between hold, and reduced when it falls behind.
public struct ReplyBuffer: Sendable, Equatable {
    public enum Size: Sendable {
        case usual, large
    }

    /// More than web server and kernel take off a responder for a phone that takes nothing.
    static let proofBytes = 768 * 1024
    /// Of a fast phone.
    static let proofBytesPerSecond = 8 * 1024 * 1024
    /// A write that takes longer is one to a slow phone.
    static let longestWrite: Duration = .seconds(1)

    private var bytes = 0
    private var time: Duration = .zero
    private var size: Size?

    public init() {}

    /// Records a write of the file's bytes.
    /// - Parameter time: that it took, and in which bytes were waited for before it.
    /// - Returns: the size that the buffer is to have from now on; `nil` if it is not to be changed.
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
