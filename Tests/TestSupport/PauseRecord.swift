public import HTTPTransport
import Synchronization

/// Records how long the code under test would have waited, without waiting.
public final class PauseRecord: Sendable {
    private let noted = Mutex<[Duration]>([])

    public init() {}

    /// The waits so far, in order.
    public var pauses: [Duration] { noted.withLock { $0 } }

    /// A back-off that does not wait.
    public func backoff(attempts: Int = 5) -> Backoff {
        Backoff(attempts: attempts) { duration in self.noted.withLock { $0.append(duration) } }
    }
}
