import Providers
import SyncProtocol
import Vault

/// Tests a storage: writes a file there, and deletes it.
struct StorageProbe {
    let name: String
    let storage: CandidateStorage

    /// - Throws: ``CloudStorageError`` if the storage does not accept files.
    func run() throws(CloudStorageError) {
        let reservation = try storage.provider.reserve(name: name, in: storage.access)
        let content = BytesContent(Array("SyncServer".utf8), for: storage.provider.storageType)
        let stored = try storage.provider.upload(
            content, as: reservation, mimeType: "text/plain", to: storage.access)
        try storage.provider.delete(objectID: stored.objectID, in: storage.access)
    }
}
