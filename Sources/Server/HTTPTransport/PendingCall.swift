import Dispatch
import Synchronization

/// Runs a closure at once on a separate thread; throws if no further thread is available.
public typealias Background = @Sendable (@escaping @Sendable () -> Void) throws -> Void

/// A call made by another thread while this thread makes its own.
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

    /// Waits for the outcome; may be called repeatedly.
    public func outcome() -> Outcome {
        hasEnded.wait()
        // For repeated calls.
        hasEnded.signal()
        guard let outcome = made.withLock({ $0 }) else { preconditionFailure("the outcome is set before the signal") }
        return outcome
    }
}

/// A value handed over to another thread.
///
/// `@unchecked Sendable`: created for that thread alone, and not used by its creator, except for parts, such as
/// connections, limits and the storage of a user, that support many threads.
public struct PassedToThread<Value>: @unchecked Sendable {
    public let value: Value

    public init(_ value: Value) { self.value = value }
}
