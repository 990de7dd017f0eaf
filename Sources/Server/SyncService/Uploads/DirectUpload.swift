import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Obtains the address at which a client can send the bytes of an upload directly to the owner's storage.
///
/// The intent, which deletes unused bytes there, is committed before the provider is asked, and lasts as long as the
/// address may work. The upload's row contains the address, so that a repeated request gets the same one, and so that
/// the server can still forward the bytes if the address is the provider's own session.
struct DirectUploadStart {
    /// An address that expires within this time is not returned again.
    private static let shortestUseSeconds: Int64 = 300

    let request: CreateUploadRequest
    let plan: UploadPlan
    let member: Member
    let context: RequestContext

    /// - Returns: `nil` if the server must forward the bytes: the storage has no addresses, or reports a hash of its
    ///   own that was not announced, or some bytes have already arrived or are arriving, or another request has taken
    ///   over the upload.
    /// - Throws: ``ErrorCode/uploadConflict`` if the upload has ended in the meantime.
    func run(_ found: ResumableUpload) throws -> DirectUpload? {
        guard isFree(found), plan.owner == found.destination?.owner ?? plan.owner, canBeVerified else { return nil }
        let storage = try context.storage(of: plan.owner, for: member.user)
        guard let provider = storage.provider as? any DirectUploads else { return nil }
        if let present = try present(of: found, provider) { return present }
        let writer = try context.writer
        guard let upload = try context.store.transaction({ try $0.takeOver(found.uploadUUID, as: writer) }) else {
            throw Refusal(.uploadConflict)
        }
        defer { end(upload, by: writer) }
        guard isFree(upload, except: writer) else { return nil }
        // A concurrent request may have obtained an address; only one is issued.
        if let present = try present(of: upload, provider) { return present }
        return try begin(upload, provider, storage, by: writer)
    }

    /// Whether the hash that the storage will report has been announced.
    private var canBeVerified: Bool { plan.owner.storageType.traits.reportsCheckSum || request.storageHash != nil }

    private var mimeType: String { request.upload.mimeType.rawValue }

    /// Whether the server has received no bytes, and no request is sending any.
    private func isFree(_ upload: ResumableUpload, except writer: String? = nil) -> Bool {
        upload.reply == nil && upload.content == nil && upload.progress.storedBytes == 0
            && (upload.writer == nil || upload.writer?.name == writer)
            // Under a name not reserved for this upload alone, an object may belong to another upload.
            && upload.destination?.spareName == nil
            && (upload.progress.session == nil || upload.directUntil != nil)
    }

    /// The address already issued to the client, if it remains valid long enough.
    private func present(of upload: ResumableUpload, _ provider: any DirectUploads) throws -> DirectUpload? {
        guard let until = upload.directUntil, let sealed = upload.progress.session,
            until.secondsSince1970 - context.now.secondsSince1970 > Self.shortestUseSeconds,
            let session = try context.services.storage.vault.opened(sealed, of: upload.uploadUUID),
            let address = provider.uploadAddress(in: session, mimeType: mimeType)
        else { return nil }
        return DirectUpload(address, until: min(until, upload.expiresAt))
    }

    private func begin(
        _ upload: ResumableUpload, _ provider: any DirectUploads, _ storage: UserStorage, by writer: String
    ) throws -> DirectUpload? {
        let until = WireDate(
            secondsSince1970: context.now.secondsSince1970 + provider.longestUploadAddressSeconds)
        var upload = upload
        upload.directUntil = until
        var existing: UploadIntent?
        if let destination = upload.destination {
            let present = try destination.inPresentFolder(of: storage)
            guard try present == destination || record(present, of: upload, by: writer) else { return nil }
            existing = try UploadIntent.existing(of: upload, present, storage, by: context.intents)
        }
        guard let intent = try existing ?? newIntent(of: upload, storage, by: writer),
            // Recorded before the address exists: from now on, the end of the upload waits for the end of the address.
            try record(nil, until, of: upload, by: writer)
        else { return nil }
        let address = try provider.beginDirectUpload(
            of: upload.lengthBytes, as: intent.reservation, mimeType: mimeType, to: storage.access)
        guard let address else { return nil }
        let end = address.expires ?? until
        guard try record(address.session, end, of: upload, by: writer) else { return nil }
        return DirectUpload(address, until: min(end, upload.expiresAt))
    }

    /// Reserves a name that no other upload uses, and commits the intent to use it.
    /// - Returns: `nil` if another request has taken over the upload.
    private func newIntent(
        of upload: ResumableUpload, _ storage: UserStorage, by writer: String
    ) throws -> UploadIntent? {
        let fileExtension = try request.upload.fileExtension(ofBytes: upload.lengthBytes, context.services.settings)
        let name = request.upload.cloudFileName(from: member.user.device, fileExtension: fileExtension)
        var reservation = try storage.provider.reserve(name: name.rawValue, in: storage.access)
        if let spareName = reservation.spareName {
            reservation.name = spareName
            reservation.spareName = nil
        }
        let intent = try UploadIntent.commit(
            toStore: reservation, in: plan.owner, storage, of: upload, by: context.intents)
        let destination = UploadDestination(of: intent, in: plan.owner)
        guard try record(destination, of: upload, by: writer) else {
            intent.giveUp()
            return nil
        }
        return intent
    }

    /// - Returns: `false` if another request has taken over the upload.
    private func record(
        _ destination: UploadDestination, of upload: ResumableUpload, by writer: String
    ) throws -> Bool {
        try context.store.transaction { try $0.record(destination, of: upload.uploadUUID, by: writer) }
    }

    /// - Returns: `false` if another request has taken over the upload.
    private func record(
        _ session: String?, _ until: WireDate, of upload: ResumableUpload, by writer: String
    ) throws -> Bool {
        let sealed = try session.map { try context.services.storage.vault.sealed($0, of: upload.uploadUUID) }
        return try context.store.transaction {
            try $0.record(directSession: sealed, until: until, of: upload.uploadUUID, by: writer)
        }
    }

    private func end(_ upload: ResumableUpload, by writer: String) {
        do {
            try context.store.withSession { try $0.endWriting(to: upload.uploadUUID, by: writer) }
        } catch {
            context.logger.info("Could not record the end of a request", metadata: .keyed([.reason: "\(error)"]))
        }
    }
}

extension DirectUpload {
    fileprivate init(_ address: UploadAddress, until: WireDate) {
        self.init(
            url: address.url, form: address.form, contentType: address.contentType,
            granularityBytes: address.granularityBytes, expires: until)
    }
}

extension UploadDestination {
    /// The destination of an upload with this intent.
    init(of intent: UploadIntent, in owner: OwningUser) {
        let settled = intent.reservation
        self.init(
            owner: owner, objectName: settled.name, spareName: settled.spareName, objectID: settled.objectID,
            folderID: settled.folderID, intent: intent.item)
    }

    /// The same destination in the current folder, since the owner may have deleted the folder after the upload began.
    func inPresentFolder(of storage: UserStorage) throws -> UploadDestination {
        guard folderID != nil else { return self }
        var present = self
        present.folderID = try storage.provider.reserve(name: objectName, in: storage.access).folderID
        return present
    }
}

/// Compares the bytes that a client has sent directly to the owner's storage with its announcement.
///
/// Only the provider's size and hash count. The hash must equal the announced checksum, or a hash announced along with
/// it; in the latter case only the uploader vouches for the checksum until somebody downloads the file
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

    /// - Throws: ``ErrorCode/uploadOffsetMismatch`` if there is no object yet, or no comparable hash was
    ///   announced; ``ErrorCode/checksumMismatch`` if the object differs from the announcement and can therefore
    ///   never be staged; ``CloudStorageError/unavailable(detail:)`` while the provider has no hash of it.
    func run(_ upload: ResumableUpload, in owner: OwningUser) throws -> StoredContent {
        guard let expected = checkSum.canonical(as: owner.storageType.checkSumFlavour) else {
            throw Refusal(.checksumMismatch)
        }
        guard let announced = owner.storageType.traits.reportsCheckSum ? expected.rawValue : storageHash?.queryText,
            let provider = storage.provider as? any DirectUploads, let object = try hashedObject(provider)
        else { throw Refusal.uploadOffsetMismatch(current: upload.progress.storedBytes) }
        // A wrong length needs no hash.
        guard object.sizeBytes == upload.lengthBytes else { throw Refusal(.checksumMismatch) }
        guard let hash = object.providerHash else {
            throw CloudStorageError.unavailable(detail: "no hash of a direct upload")
        }
        guard hash == announced else { throw Refusal(.checksumMismatch) }
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
