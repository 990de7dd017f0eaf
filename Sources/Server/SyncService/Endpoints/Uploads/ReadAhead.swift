import Dispatch
import Providers
import Synchronization

/// One part of an upload that is read on another thread while the previous part is being sent.
///
/// The data that the read uses belongs to that thread from start to end; ``result()`` hands it back.
final class ReadAhead: Sendable {
    private let outcome = Mutex<Result<UploadPart, any Error>?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Passes the read closure to its thread.
    ///
    /// `@unchecked Sendable`: the starting thread does not use what the closure captures before ``result()`` has
    /// returned.
    private struct Reading: @unchecked Sendable {
        let read: () throws -> UploadPart
    }

    /// Begins to read.
    /// - Throws: what `background` throws if no further thread is available; in that case nothing was read.
    init(on background: Services.Background, _ read: @escaping () throws -> UploadPart) throws {
        let reading = Reading(read: read)
        try background { [self] in
            let result = Result { try reading.read() }
            outcome.withLock { $0 = result }
            hasEnded.signal()
        }
    }

    /// Waits for the read to end; called once.
    func result() -> Result<UploadPart, any Error> {
        hasEnded.wait()
        guard let result = outcome.withLock({ $0.take() }) else { preconditionFailure("the result is taken once") }
        return result
    }
}
