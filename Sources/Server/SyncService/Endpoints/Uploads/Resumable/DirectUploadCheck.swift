import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Compares what a client has sent to the owner's storage itself with what it has announced.
///
/// Only the provider is believed: its size and its hash, which is the announced checksum, or was announced beside it. In the
/// latter case the checksum is the uploader's word until somebody downloads the file (``DownloadStream``).
struct DirectUploadCheck {
    /// An object that is not found is looked for once more: providers are eventually consistent.
    private static let secondLookPause: Duration = .seconds(1)
    /// How often an object is looked at whose hash the provider does not know yet.
    private static let hashLooks = 3

    /// The announced one.
    let checkSum: CheckSum
    /// The announced one, where the storage reports another hash than the checksum.
    let storageHash: StorageHash?
    let storage: UserStorage
    let intent: UploadIntent
    let context: RequestContext

    /// - Throws: ``EndpointError/uploadOffsetMismatch(current:)`` if there is no object yet, or no hash was announced to compare;
    ///   ``EndpointError/checkSumMismatch`` if it is another one than was announced, which can therefore never be staged;
    ///   ``CloudStorageError/unavailable(detail:)`` as long as the provider has no hash of it.
    func run(_ upload: ResumableUpload, in owner: OwningUser) throws -> StoredContent {
        guard let expected = checkSum.canonical(as: owner.storageType.checkSumFlavour) else {
            throw EndpointError.checkSumMismatch
        }
        guard let announced = owner.storageType.reportsCheckSum ? expected.rawValue : storageHash?.queryText,
            let provider = storage.provider as? any DirectUploads, let object = try hashedObject(provider)
        else { throw EndpointError.uploadOffsetMismatch(current: upload.progress.storedBytes) }
        // A wrong length needs no hash.
        guard object.sizeBytes == upload.lengthBytes else { throw EndpointError.checkSumMismatch }
        guard let hash = object.providerHash else {
            throw CloudStorageError.unavailable(detail: "no hash of what a client has sent there")
        }
        guard hash == announced else { throw EndpointError.checkSumMismatch }
        return StoredContent(
            object, ofBytes: upload.lengthBytes, ContentHashes(checkSum: expected, providerHash: hash), in: owner)
    }

    /// The object, looked at again for a moment if the provider has not hashed it yet.
    private func hashedObject(_ provider: any DirectUploads) throws -> StoredObject? {
        var found = try object(provider)
        for _ in 1..<Self.hashLooks {
            guard let object = found, object.providerHash == nil,
                context.services.storage.backoff.pause(Self.secondLookPause, deadline: context.deadline)
            else { break }
            found = try provider.directlyUploaded(as: intent.reservation, in: storage.access)
        }
        return found
    }

    private func object(_ provider: any DirectUploads) throws -> StoredObject? {
        let reservation = intent.reservation
        if let object = try provider.directlyUploaded(as: reservation, in: storage.access) { return object }
        guard context.services.storage.backoff.pause(Self.secondLookPause, deadline: context.deadline) else {
            return nil
        }
        return try provider.directlyUploaded(as: reservation, in: storage.access)
    }
}
