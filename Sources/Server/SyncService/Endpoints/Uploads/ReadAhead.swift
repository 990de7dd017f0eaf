import Dispatch
import Providers
import Synchronization

/// One part of an upload that is read on another thread while the part before it is being sent.
///
/// What the reading touches belongs to that thread from the start to the end of it; ``result()`` hands it back.
final class ReadAhead: Sendable {
    private let outcome = Mutex<Result<UploadPart, any Error>?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Carries the reading to its thread.
    ///
    /// `@unchecked Sendable`: whoever started it does not touch what it captures before ``result()`` has returned.
    private struct Reading: @unchecked Sendable {
        let read: () throws -> UploadPart
    }

    /// Begins to read.
    /// - Throws: what `background` throws if there is no room for another thread; nothing was read then.
    init(on background: Services.Background, _ read: @escaping () throws -> UploadPart) throws {
        let reading = Reading(read: read)
        try background { [self] in
            let result = Result { try reading.read() }
            outcome.withLock { $0 = result }
            hasEnded.signal()
        }
    }

    /// Waits for the end of the reading; called once.
    func result() -> Result<UploadPart, any Error> {
        hasEnded.wait()
        guard let result = outcome.withLock({ $0.take() }) else { preconditionFailure("the result is taken once") }
        return result
    }
}
