import Dispatch
import Providers
import Synchronization
import Vault

/// The provider's description of an object, requested on another thread while this one requests the object's bytes.
final class PendingDescription: Sendable {
    typealias Outcome = Result<StoredObject, CloudStorageError>

    private let outcome = Mutex<Outcome?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Begins to ask.
    /// - Parameter storage: opened for this purpose; not to be used by the caller.
    /// - Throws: what `background` throws if no further thread is available.
    init(of objectID: String, in storage: UserStorage, on background: Services.Background) throws {
        let passed = PassedToThread(storage)
        try background { [self] in
            let described: Outcome
            do throws(CloudStorageError) {
                described = .success(
                    try passed.value.provider.describe(objectID: objectID, in: passed.value.access))
            } catch {
                described = .failure(error)
            }
            outcome.withLock { $0 = described }
            hasEnded.signal()
        }
    }

    /// Waits for the description.
    func result() -> Outcome {
        hasEnded.wait()
        // For whoever asks again.
        hasEnded.signal()
        guard let described = outcome.withLock({ $0 }) else { preconditionFailure("it is set before the signal") }
        return described
    }
}
