import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Compares what a client has sent to the owner's storage itself with what it has announced.
///
/// Only the provider is believed: its size and its hash, which is the announced checksum.
struct DirectUploadCheck {
    /// An object that is not found is looked for once more: providers are eventually consistent.
    private static let secondLookPause: Duration = .seconds(1)

    /// The announced one.
    let checkSum: CheckSum
    let storage: UserStorage
    let intent: UploadIntent
    let context: RequestContext

    /// - Throws: ``EndpointError/uploadOffsetMismatch(current:)`` if there is no object yet;
    ///   ``EndpointError/checkSumMismatch`` if it is another one than was announced, which can therefore never be staged;
    ///   ``CloudStorageError/unavailable(detail:)`` as long as the provider has no hash of it.
    func run(_ upload: ResumableUpload, in owner: OwningUser) throws -> StoredContent {
        guard let provider = storage.provider as? any DirectUploads, let object = try object(provider) else {
            throw EndpointError.uploadOffsetMismatch(current: upload.progress.storedBytes)
        }
        guard let hash = object.providerHash else {
            throw CloudStorageError.unavailable(detail: "no hash of what a client has sent there")
        }
        guard let expected = checkSum.canonical(as: owner.storageType.checkSumFlavour),
            object.sizeBytes == upload.lengthBytes, hash == expected.rawValue
        else { throw EndpointError.checkSumMismatch }
        return StoredContent(
            object, ofBytes: upload.lengthBytes, ContentHashes(checkSum: expected, providerHash: hash), in: owner)
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
