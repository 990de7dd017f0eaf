import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Compares the bytes that a client has sent directly to the owner's storage with its announcement.
///
/// Only the provider's size and hash count. The hash must equal the announced checksum, or a hash announced beside it;
/// in the latter case only the uploader vouches for the checksum until somebody downloads the file
/// (``DownloadStream``).
struct DirectUploadCheck {
    /// A missing object is looked up once more, since providers are eventually consistent.
    private static let secondLookPause: Duration = .seconds(1)
    /// The number of lookups of an object that the provider has not hashed yet.
    private static let hashLooks = 3

    /// The announced checksum.
    let checkSum: CheckSum
    /// The announced hash, if the storage reports a different kind of hash.
    let storageHash: StorageHash?
    let storage: UserStorage
    let intent: UploadIntent
    let context: RequestContext

    /// - Throws: ``EndpointError/uploadOffsetMismatch(current:)`` if there is no object yet, or no comparable hash was
    ///   announced; ``EndpointError/checkSumMismatch`` if the object differs from the announcement and can therefore
    ///   never be staged; ``CloudStorageError/unavailable(detail:)`` while the provider has no hash of it.
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
            throw CloudStorageError.unavailable(detail: "no hash of a direct upload")
        }
        guard hash == announced else { throw EndpointError.checkSumMismatch }
        return StoredContent(
            object, ofBytes: upload.lengthBytes, ContentHashes(checkSum: expected, providerHash: hash), in: owner)
    }

    /// The object, looked up a few times if the provider has not hashed it yet.
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
