import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// The transfer of a body from the phone to the cloud.
struct Upload {
    let mimeType: MIMEType
    let owner: OwningUser
    let storage: UserStorage
    let intent: UploadIntent
    private let content: any UploadContent
    /// The hashes; known once all contents have arrived.
    private let hashes: () -> ContentHashes?

    /// Reserves a place at the provider, and commits the intent to use it.
    /// - Parameters:
    ///   - checkSum: the announced checksum, in canonical form.
    ///   - identity: what else is known of the bytes.
    ///   - owner: the owner of the storage that receives the bytes.
    static func begin(
        name: CloudFileName, mimeType: MIMEType, length: Int64, of checkSum: CheckSum,
        knownBy identity: ContentIdentity? = nil, in owner: OwningUser, for caller: SignedInUser,
        context: RequestContext
    ) throws -> Upload {
        // The provider requires a hash that depends on all the bytes.
        let collected =
            checkSum.flavour == owner.storageType.checkSumFlavour
            ? nil : try CollectedBody(of: context, lengthBytes: length, checkSum, for: owner.storageType)
        let storage = try context.storage(of: owner, for: caller)
        let reservation = try storage.provider.reserve(name: name.rawValue, in: storage.access)
        let intent = try UploadIntent.commit(toStore: reservation, in: owner, storage, by: context.intents)
        if let collected {
            return Upload(
                mimeType: mimeType, owner: owner, storage: storage, intent: intent, content: collected.content
            ) { collected.hashes }
        }
        let content = PhoneUpload(
            context.body, lengthBytes: length, expected: checkSum, knownBy: identity, storageType: owner.storageType,
            budget: context.services.partBudget, keepAlive: { try intent.keepAlive() },
            beforeEnd: { try intent.confirm() })
        return Upload(mimeType: mimeType, owner: owner, storage: storage, intent: intent, content: content) {
            content.hashes
        }
    }

    /// Transfers the bytes.
    func run() throws -> StoredContent {
        let stored = try storage.upload(content, as: intent.reservation, mimeType)
        guard let hashes = hashes() else { throw CloudStorageError.contentMismatch }
        return StoredContent(stored, ofBytes: content.lengthBytes, hashes, in: owner)
    }
}

extension UserStorage {
    /// Transfers the bytes.
    ///
    /// Each part has its own deadline, from the moment it has arrived; TransferPace handles slow phones.
    func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, _ mimeType: MIMEType
    ) throws -> StoredObject {
        do {
            return try provider.upload(content, as: reservation, mimeType: mimeType.rawValue, to: access)
        } catch .contentFailed(let cause) {
            // Invalid data from the phone, or its disconnection, is not a failure of the cloud.
            throw cause
        }
    }
}

extension StoredContent {
    init(_ object: StoredObject, ofBytes lengthBytes: Int64, _ hashes: ContentHashes, in owner: OwningUser) {
        self.init(
            owningUser: owner, checkSum: hashes.checkSum, sha256: object.sha256, sizeBytes: lengthBytes,
            objectID: object.objectID, objectRevision: object.revision,
            providerHash: object.providerHash == hashes.checkSum.rawValue ? nil : object.providerHash)
    }
}
