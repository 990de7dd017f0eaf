import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Synchronization
import Vault

/// The outbox work that takes place in people's storage.
struct CloudWork: Sendable {
    private static let itemTime: Duration = .seconds(60)
    /// How often the lease of long work is renewed.
    private static let renewalInterval: Duration = .seconds(60)
    /// How long a deletion waits for a request that sends bytes of a resumable upload, in seconds.
    private static let writerPatienceSeconds: Int64 = 600

    let store: MetadataStore
    let storage: StorageRegistry
    let warningFile: OutboxWorker.WarningFile?
    let indexPages: IndexPageWork?
    let manifests: ManifestWork?
    let rebuild: RebuildWork
    let readings: ReadingSlots
    let leaseOwner: String
    let now: @Sendable () -> WireDate

    /// Performs one piece of work; repeating it changes nothing.
    /// - Throws: `CloudStorageError`, `StoreError`.
    func perform(
        _ work: StorageWork, of owner: OwningUser, _ item: OutboxItem, _ transport: Transport, _ logger: Logger,
        _ signOfLife: () -> Void
    ) throws {
        guard let storage = try open(owner, transport, logger) else {
            // Unless the work has since passed to another user, nobody can perform it.
            return logger.warning("No access to the storage: its user was removed")
        }
        // An account switch, which removes the work for the former account, may have happened before the lookup.
        guard try store.withSession({ try $0.isLeased(item.id, by: leaseOwner) }) else { return }
        switch work {
        case .deleteObject(let object):
            let upload = try store.withSession { try $0.upload(of: item.id, in: owner) }
            if let upload { try endAddress(of: upload, for: item, storage, logger) }
            try delete(object, of: owner, for: item, storage)
            if let upload {
                try endSession(of: upload, storage)
                try store.transaction { try $0.forgetUpload(of: item.id, in: owner) }
            }
        case .writeWarningFile(let objectID): try writeWarningFile(objectID, for: item, storage)
        case .writeIndexPage: try indexPages?.write(for: owner, in: storage, logger)
        case .writeManifest(let groupID): try manifests?.write(groupID, for: owner, in: storage, logger)
        case .readManifests:
            var renewed = ContinuousClock.now
            try rebuild.read(owner, in: storage, logger) {
                signOfLife()
                guard renewed.duration(to: .now) > Self.renewalInterval else { return true }
                renewed = .now
                return keepsLease(of: item)
            }
        case .hashObject(let objectID): try hash(objectID, of: owner, for: item, storage, signOfLife)
        }
    }

    /// The owner's storage; `nil` if their account no longer exists here, and access with it.
    private func open(_ owner: OwningUser, _ transport: Transport, _ logger: Logger) throws -> UserStorage? {
        let deadline = Deadline.after(Self.itemTime)
        if let user = try store.withSession({ try $0.user(owner.userID) }) {
            return try storage.storage(of: user, transport: transport, deadline: deadline, logger: logger)
        }
        guard let departed = try store.withSession({ try $0.departedUser(owner.userID) }) else { return nil }
        return try storage.storage(
            of: departed.user, account: .departed(sealed: departed.credentials), transport: transport,
            deadline: deadline, logger: logger)
    }

    /// Ends the address at which a client could send the bytes of an upload directly, so that nothing arrives after the
    /// deletion.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` until the address expires, if it cannot be ended earlier.
    private func endAddress(
        of upload: ResumableUpload, for item: OutboxItem, _ storage: UserStorage, _ logger: Logger
    ) throws {
        guard let until = upload.directUntil, until > now(), let sealed = upload.progress.session,
            let destination = upload.destination, let provider = storage.provider as? any DirectUploads,
            let session = try self.storage.vault.opened(sealed, of: upload.uploadUUID)
        else { return }
        let reservation = ObjectReservation(
            name: destination.objectName, objectID: destination.objectID, folderID: destination.folderID,
            spareName: destination.spareName)
        if try provider.endDirectUpload(session, as: reservation, in: storage.access) {
            return logger.info("Upload address withdrawn")
        }
        // The tokens of a removed user are not kept that long.
        guard try store.withSession({ try $0.departedUser(item.userID) }) == nil else { return }
        throw WaitsForUpload(until: until)
    }

    /// Ends an upload at a provider that would otherwise keep its bytes forever.
    private func endSession(of upload: ResumableUpload, _ storage: UserStorage) throws {
        guard upload.directUntil == nil, let sealed = upload.progress.session,
            let session = try self.storage.vault.opened(sealed, of: upload.uploadUUID)
        else { return }
        try storage.provider.endUpload(session, in: storage.access)
    }

    private func delete(
        _ object: ObjectReference, of owner: OwningUser, for item: OutboxItem, _ storage: UserStorage
    ) throws {
        if let objectID = object.objectID {
            let isAwaited = try store.transaction { session in
                try session.hasOlderUpload(than: item.id, of: owner, patience: Self.writerPatienceSeconds, at: now())
            }
            // That upload may have found the object because it has the same contents.
            if isAwaited { throw WaitsForUpload() }
            guard try object.names != [IndexPage.name] || isPage(objectID, in: storage) else { return }
            try deleteUnlessReferenced(objectID, named: object.names, of: owner, storage)
            // With several names, the identifier may belong to the first object found under one of them.
            guard object.names.count > 1 else { return }
        }
        // Left by an upload that was interrupted before it learned its object's identifier, or stored by an older
        // server.
        for name in object.names {
            guard let found = try storage.provider.find(name: name, in: storage.access) else { continue }
            // Recorded before the decision, so that no upload can adopt the object from then on.
            try store.transaction { session in
                try session.record(objectID: found.objectID, in: item.id, by: leaseOwner)
            }
            try deleteUnlessReferenced(found.objectID, named: object.names, of: owner, storage)
        }
    }

    /// Whether an object is an index page, and not another file that its owner has put in its place or renamed.
    private func isPage(_ objectID: String, in storage: UserStorage) throws(CloudStorageError) -> Bool {
        var bytes: [UInt8] = []
        do throws(CloudStorageError) {
            guard try storage.provider.describe(objectID: objectID, in: storage.access).name == IndexPage.name else {
                return false
            }
            try storage.provider.download(
                objectID: objectID, range: 0...Int64(IndexPage.beginning.count - 1), from: storage.access,
                begin: { _ in },
                receive: { piece in
                    bytes.append(copying: piece)
                    return true
                })
        } catch .notFound {
            return false
        } catch .contentMismatch {
            // The object is shorter.
            return false
        }
        return bytes == IndexPage.beginning
    }

    private func deleteUnlessReferenced(
        _ objectID: String, named names: [String], of owner: OwningUser, _ storage: UserStorage
    ) throws {
        let names = names.compactMap { CloudFileName($0) }
        let isReferenced = try store.transaction { session in
            if try session.isReferenced(objectID, of: owner) { return true }
            for name in names where try session.isReferenced(name, of: owner) { return true }
            try discardUploads(of: objectID, of: owner, &session)
            return false
        }
        // From here on no upload can adopt the object: while this row exists, adoption is rejected.
        if !isReferenced { try storage.provider.delete(objectID: objectID, in: storage.access) }
    }

    /// Ends complete but unstaged uploads whose bytes are in an object about to be deleted; they found it because it
    /// had the same contents. A client that continues such an upload starts over.
    private func discardUploads(
        of objectID: String, of owner: OwningUser, _ session: inout StoreSession
    ) throws {
        for upload in try session.unstagedUploads(in: owner)
        where try upload.content.map({ try KeptContent($0).stored(in: owner).objectID }) == objectID {
            try session.end(upload, at: now())
        }
    }

    private func writeWarningFile(_ objectID: String?, for item: OutboxItem, _ storage: UserStorage) throws {
        guard let warningFile else { return }
        var reservation = try storage.provider.reserve(name: warningFile.name, in: storage.access)
        // Under another name the file would be useless.
        reservation.spareName = nil
        if let objectID {
            reservation.objectID = objectID
        } else {
            // A file with that name may belong to the person, or come from their earlier account: it is left unchanged.
            if try storage.provider.find(name: warningFile.name, in: storage.access) != nil { return }
            if let objectID = reservation.objectID {
                try store.transaction { session in
                    try session.record(objectID: objectID, in: item.id, by: leaseOwner)
                }
            }
        }
        let content = BytesContent(warningFile.contents, for: storage.provider.storageType)
        _ = try storage.provider.upload(content, as: reservation, mimeType: "text/plain", to: storage.access)
    }

    /// Computes the hashes of an object, and compares them with the provider's own hash, which may become available
    /// late.
    private func hash(
        _ objectID: String, of owner: OwningUser, for item: OutboxItem, _ storage: UserStorage,
        _ signOfLife: () -> Void
    ) throws {
        do {
            let object = try storage.provider.describe(objectID: objectID, in: storage.access)
            let isLate = object.providerHash == nil && owner.storageType.traits.reportsHashLate
            guard !isLate || item.attempts >= OutboxWorker.maximumAttempts else {
                throw CloudStorageError.unavailable(detail: "the provider has no hash yet")
            }
            let known = try store.withSession { try $0.knownContent(of: objectID, in: owner) }
            let content: KnownContent
            if let known, known.providerHash == object.contentMark {
                content = known
            } else {
                content = try readings.run(for: owner) { () throws(CloudStorageError) in
                    var renewed = ContinuousClock.now
                    return try ContentReading.contents(of: object, in: storage) {
                        signOfLife()
                        guard renewed.duration(to: .now) > Self.renewalInterval else { return true }
                        renewed = .now
                        return keepsLease(of: item)
                    }
                }
            }
            try store.transaction { session in
                try session.remember(content, of: objectID, in: owner, at: now())
            }
        } catch CloudStorageError.notFound {
            // The object was deleted in the meantime, so there is nothing to compute.
        }
    }

    /// Renews the lease; while the database is unreachable, the lease counts as kept.
    private func keepsLease(of item: OutboxItem) -> Bool {
        let until = WireDate(secondsSince1970: now().secondsSince1970 + OutboxWorker.leaseSeconds)
        return (try? store.repeatedStatement { try $0.renewLease(of: item.id, by: leaseOwner, until: until) }) ?? true
    }
}

/// A deletion must wait for an upload to end. Nothing has failed, so this does not count as an attempt.
struct WaitsForUpload: Error {
    /// The latest time at which the upload ends; `nil` if that is soon.
    var until: WireDate?
}

extension CloudStorageError {
    /// How long to wait before retrying, if known.
    var retryAfter: Duration? {
        switch self {
        case .rateLimited(let retryAfter): retryAfter
        case .withheld(let reason): reason.retryAfter
        default: nil
        }
    }
}

/// Limits how many objects on servers named by people the workers of a process read at a time, and to one per owner: a
/// large object on a slow server would keep other work waiting for a thread.
public final class ReadingSlots: Sendable {
    private let count: Int
    private let owners = Mutex<Set<UserID>>([])

    public init(_ count: Int) { self.count = count }

    /// - Throws: ``CloudStorageError/unavailable(detail:)`` if others are reading; any error of `body`.
    func run<Result>(
        for owner: OwningUser, _ body: () throws(CloudStorageError) -> Result
    ) throws(CloudStorageError) -> Result {
        guard owner.storageType.traits.isNamedByPerson else { return try body() }
        let isFree = owners.withLock { $0.count < count && $0.insert(owner.userID).inserted }
        guard isFree else { throw .unavailable(detail: "other objects are being read") }
        defer { owners.withLock { _ = $0.remove(owner.userID) } }
        return try body()
    }
}
