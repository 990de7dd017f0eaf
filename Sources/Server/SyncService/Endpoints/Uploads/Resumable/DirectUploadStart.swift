import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Gets the address at which a client can send the bytes of an upload to the owner's storage itself.
///
/// The intent that deletes what comes there is committed before the provider is asked, and lasts as long as the address may
/// work. The address is part of the upload's row, so that a repeated request gets the same one, and so that the bytes can
/// still come through us where the provider's own session is their address.
struct DirectUploadStart {
    /// An address that ends within this time is not given out again.
    private static let shortestUseSeconds: Int64 = 300

    let request: CreateUploadRequest
    let plan: UploadPlan
    let member: Member
    let context: RequestContext

    /// - Returns: `nil` if the bytes are to come through us: the storage has no addresses, or reports a hash of its own that
    ///   was not announced, or some of them have come, or are coming, already, or another request has taken the upload over
    ///   meanwhile.
    /// - Throws: ``EndpointError/uploadConflict`` if the upload has ended meanwhile.
    func run(_ found: ResumableUpload) throws -> DirectUpload? {
        guard isFree(found), plan.owner == found.destination?.owner ?? plan.owner, canBeVerified else { return nil }
        let storage = try context.storage(of: plan.owner, for: member.user)
        guard let provider = storage.provider as? any DirectUploads else { return nil }
        if let present = try present(of: found, provider) { return present }
        let writer = try context.writer
        guard let upload = try context.store.transaction({ try $0.takeOver(found.uploadUUID, as: writer) }) else {
            throw EndpointError.uploadConflict
        }
        defer { end(upload, by: writer) }
        guard isFree(upload, except: writer) else { return nil }
        // Of two requests at the same moment the other one may have got it. Only one address is given out.
        if let present = try present(of: upload, provider) { return present }
        return try begin(upload, provider, storage, by: writer)
    }

    /// Whether what the storage will report of the bytes has been announced.
    private var canBeVerified: Bool { plan.owner.storageType.reportsCheckSum || request.storageHash != nil }

    private var mimeType: String { request.upload.mimeType.rawValue }

    /// Whether no bytes have come through us, nor are coming.
    private func isFree(_ upload: ResumableUpload, except writer: String? = nil) -> Bool {
        upload.reply == nil && upload.content == nil && upload.progress.storedBytes == 0
            && (upload.writer == nil || upload.writer?.name == writer)
            // Under a name that was not chosen for this upload alone, an object may be another one's.
            && upload.destination?.spareName == nil
            && (upload.progress.session == nil || upload.directUntil != nil)
    }

    /// The address that the client has got already, if that works for some more time.
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
            // Recorded before there is an address: an upload that ends from now on waits until it has ended, too.
            try record(nil, until, of: upload, by: writer)
        else { return nil }
        let address = try provider.beginDirectUpload(
            of: upload.lengthBytes, as: intent.reservation, mimeType: mimeType, to: storage.access)
        guard let address else { return nil }
        let end = address.expires ?? until
        guard try record(address.session, end, of: upload, by: writer) else { return nil }
        return DirectUpload(address, until: min(end, upload.expiresAt))
    }

    /// Reserves a place that no other upload uses, and commits the intent to use it.
    /// - Returns: `nil` if another request has taken the upload over.
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

    /// - Returns: `false` if another request has taken the upload over.
    private func record(
        _ destination: UploadDestination, of upload: ResumableUpload, by writer: String
    ) throws -> Bool {
        try context.store.transaction { try $0.record(destination, of: upload.uploadUUID, by: writer) }
    }

    /// - Returns: `false` if another request has taken the upload over.
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
            context.logger.info("End of a request not recorded", metadata: .keyed([.reason: "\(error)"]))
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
    /// Where the bytes of an upload with this intent go.
    init(of intent: UploadIntent, in owner: OwningUser) {
        let settled = intent.reservation
        self.init(
            owner: owner, objectName: settled.name, spareName: settled.spareName, objectID: settled.objectID,
            folderID: settled.folderID, intent: intent.item)
    }

    /// The same in the folder that is there now: since an upload was begun, its owner may have deleted the folder.
    func inPresentFolder(of storage: UserStorage) throws -> UploadDestination {
        guard folderID != nil else { return self }
        var present = self
        present.folderID = try storage.provider.reserve(name: objectName, in: storage.access).folderID
        return present
    }
}
