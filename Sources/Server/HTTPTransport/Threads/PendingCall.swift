import Dispatch
import Synchronization

/// Runs a closure on a thread of its own, at once; throws if no further thread is available.
public typealias Background = @Sendable (@escaping @Sendable () -> Void) throws -> Void

/// A call that another thread makes, while this one makes another.
public final class PendingCall<Outcome: Sendable>: Sendable {
    private let made = Mutex<Outcome?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Begins the call.
    /// - Throws: what `background` throws if no further thread is available.
    public init(on background: Background, _ call: @escaping @Sendable () -> Outcome) throws {
        try background { [self] in
            let outcome = call()
            made.withLock { $0 = outcome }
            hasEnded.signal()
        }
    }

    /// Waits for the outcome; may be asked for it more than once.
    public func outcome() -> Outcome {
        hasEnded.wait()
        // For whoever asks again.
        hasEnded.signal()
        guard let outcome = made.withLock({ $0 }) else { preconditionFailure("it is set before the signal") }
        return outcome
    }
}
