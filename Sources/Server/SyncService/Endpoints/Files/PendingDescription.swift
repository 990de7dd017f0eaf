import HTTPTransport
import Providers
import Vault

/// The provider's description of an object, requested on another thread while this one requests the object's bytes.
typealias PendingDescription = PendingCall<Result<StoredObject, CloudStorageError>>

extension PendingDescription {
    /// Starts the request.
    /// - Parameter storage: opened for this purpose; the caller must not use it.
    /// - Throws: what `background` throws if no further thread is available.
    convenience init(of objectID: String, in storage: UserStorage, on background: Background) throws {
        let passed = PassedToThread(storage)
        try self.init(on: background) {
            Result { () throws(CloudStorageError) in
                try passed.value.provider.describe(objectID: objectID, in: passed.value.access)
            }
        }
    }
}
