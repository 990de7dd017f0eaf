import HTTPTransport
import Logging
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

/// What the records of uploads require from the uploader: a request, or the jobs role.
struct IntentKeeper {
    let store: MetadataStore
    /// The current time by the database's clock.
    let now: () -> WireDate
    /// Returns a unique string.
    let makeUUID: () throws -> String
    let logger: Logger

    fileprivate func note(_ error: any Error) {
        logger.info("Could not end an upload intent: its lease will expire", metadata: .keyed([.reason: "\(error)"]))
    }
}

extension RequestContext {
    var intents: IntentKeeper {
        IntentKeeper(store: store, now: services.now, makeUUID: services.makeUUID, logger: logger)
    }
}

/// A record, committed before the first byte is sent to a cloud, that guarantees the cleanup of an upload.
///
/// It is a leased row of the outbox. If this process dies, the lease expires, and the jobs role deletes the object.
final class UploadIntent {
    /// How long the jobs role leaves the object alone after the lease is renewed. At least 75 of these seconds remain
    /// when the last part is sent, more than that part and the staging may take.
    private static let leaseSeconds: Int64 = 105
    private static let renewalInterval: Duration = .seconds(30)
    /// The delay, in seconds, before a provider without a hash is asked for it again.
    private static let hashDelaySeconds: Int64 = 30
    private static let confirmationAge: Duration = .milliseconds(50)
    private static let confirmationLimit: Duration = .seconds(3)

    /// If more objects than this are about to be deleted, they are not examined.
    private static let maximumDoomed = 500

    let item: OutboxID
    let leaseOwner: String
    /// The reservation for the upload: with the plain name only if no other upload may refer to the same object.
    let reservation: ObjectReservation
    /// Objects that were about to be deleted when the upload began; an object found with the same contents must not
    /// count as stored.
    private let doomed: Set<String>
    private let owner: OwningUser
    let accountEpoch: AccountEpoch
    private let keeper: IntentKeeper
    /// When the lease ends, if arriving bytes do not extend it.
    private let fixedEnd: WireDate?
    private var renewed = ContinuousClock.now

    private init(
        _ item: OutboxID, leaseOwner: String, until fixedEnd: WireDate?, reservation: ObjectReservation,
        doomed: Set<String>, owner: OwningUser, _ accountEpoch: AccountEpoch, by keeper: IntentKeeper
    ) {
        self.fixedEnd = fixedEnd
        self.item = item
        self.leaseOwner = leaseOwner
        self.reservation = reservation
        self.doomed = doomed
        self.owner = owner
        self.accountEpoch = accountEpoch
        self.keeper = keeper
    }

    /// Commits the record of an upload that is about to begin.
    /// - Parameters:
    ///   - storage: the storage of `owner` in which the reservation was made.
    ///   - upload: the upload that it belongs to, if other requests may continue that; the upload then holds the lease.
    /// - Throws: ``ErrorCode/ownerRemoved``, ``AccountSwitched``, ``StoreError``.
    static func commit(
        toStore reservation: ObjectReservation, in owner: OwningUser, _ storage: UserStorage,
        of upload: ResumableUpload? = nil, by keeper: IntentKeeper
    ) throws -> UploadIntent {
        try commit(toStore: [reservation], in: owner, storage, of: upload, by: keeper)[0]
    }

    /// The same for several uploads, in one transaction.
    static func commit(
        toStore reservations: [ObjectReservation], in owner: OwningUser, _ storage: UserStorage,
        of upload: ResumableUpload? = nil, by keeper: IntentKeeper
    ) throws -> [UploadIntent] {
        let leaseOwner = try upload?.uploadUUID.rawValue ?? keeper.makeUUID()
        let add = { (session: inout StoreSession) in
            try reservations.map { reservation in
                try session.addIntent(
                    toStore: reservation.objectID,
                    named: [reservation.name, reservation.spareName].compactMap(\.self), in: owner,
                    at: storage.accountEpoch, leaseOwner: leaseOwner,
                    until: upload?.leaseEnd ?? Self.leaseEnd(keeper),
                    at: keeper.now())
            }
        }
        let items: [OutboxID]
        do {
            items = try reservations.count == 1 ? keeper.store.withSession(add) : keeper.store.transaction(add)
        } catch StoreError.notFound {
            guard try keeper.store.withSession({ try $0.user(owner.userID) }) != nil else {
                throw Refusal(.ownerRemoved)
            }
            throw AccountSwitched()
        }
        let settled = try Self.settle(Array(zip(reservations, items)), leaseOwner, owner, keeper)
        return zip(settled, items).map { settled, item in
            UploadIntent(
                item, leaseOwner: leaseOwner, until: upload?.leaseEnd, reservation: settled.reservation,
                doomed: settled.doomed, owner: owner, storage.accountEpoch, by: keeper)
        }
    }

    /// The record that an earlier request has committed.
    /// - Throws: ``StoreError``.
    static func existing(
        of upload: ResumableUpload, _ destination: UploadDestination, _ storage: UserStorage, by keeper: IntentKeeper
    ) throws -> UploadIntent {
        let doomed =
            destination.spareName == nil
            ? [] : try keeper.store.withSession { try $0.doomedObjects(of: destination.owner, limit: maximumDoomed) }
        return UploadIntent(
            destination.intent, leaseOwner: upload.uploadUUID.rawValue, until: upload.leaseEnd,
            reservation: ObjectReservation(
                name: destination.objectName, objectID: destination.objectID, folderID: destination.folderID,
                spareName: destination.spareName),
            doomed: doomed, owner: destination.owner, storage.accountEpoch, by: keeper)
    }

    /// If names are unique, decides whether the plain names can be used.
    private static func settle(
        _ uploads: [(reservation: ObjectReservation, item: OutboxID)], _ leaseOwner: String, _ owner: OwningUser,
        _ keeper: IntentKeeper
    ) throws -> [(reservation: ObjectReservation, doomed: Set<String>)] {
        guard uploads.contains(where: { $0.reservation.spareName != nil }) else {
            return uploads.map { ($0.reservation, []) }
        }
        return try keeper.store.withSession { session in
            // In this order, work that finds its object by name in the meantime gets an identifier and appears among
            // the doomed; in the reverse order, both lookups would miss it.
            let areNamedElsewhere = try uploads.map { upload in
                try session.isNamedElsewhere(upload.reservation.name, of: owner, than: upload.item)
            }
            let doomed = try session.doomedObjects(of: owner, limit: maximumDoomed)
            return try zip(uploads, areNamedElsewhere).map { upload, isNamedElsewhere in
                guard let spareName = upload.reservation.spareName else { return (upload.reservation, []) }
                guard isNamedElsewhere || doomed.count == maximumDoomed else { return (upload.reservation, doomed) }
                try session.restrict(upload.item, by: leaseOwner, toName: spareName)
                let reservation = ObjectReservation(
                    name: spareName, objectID: nil, folderID: upload.reservation.folderID)
                return (reservation, [])
            }
        }
    }

    /// Whether an object that a row now refers to may still be deleted. Call in that row's transaction.
    private func isDoomed(_ objectID: String, using session: inout StoreSession) throws -> Bool {
        if reservation.objectID != nil { return false }
        if doomed.contains(objectID) { return true }
        return try session.isDoomed(objectID, of: owner)
    }

    /// Ends the intent, now that a row refers to the object. Call in that row's transaction.
    /// - Throws: ``ErrorCode/uploadConflict`` if the object may be deleted, or its owner has switched accounts.
    func end(storing content: StoredContent, using session: inout StoreSession) throws {
        if let objectID = content.objectID, try isDoomed(objectID, using: &session) {
            throw Refusal(.uploadConflict)
        }
        guard try session.completeIntent(item, at: accountEpoch, by: leaseOwner) else {
            throw Refusal(.uploadConflict)
        }
        if content.providerHash == nil, content.owningUser.storageType.traits.reportsHashLate,
            let id = content.objectID
        {
            let now = keeper.now()
            try session.addHashing(
                of: id, in: content.owningUser,
                availableAt: WireDate(secondsSince1970: now.secondsSince1970 + Self.hashDelaySeconds), at: now)
        }
    }

    /// Renews the lease if due.
    /// - Throws: ``ErrorCode/uploadConflict`` if the object may be deleted at any moment.
    func keepAlive() throws {
        guard renewed.duration(to: .now) > Self.renewalInterval else { return }
        try renew()
    }

    /// Renews the leases of several uploads, in one transaction, if they are due.
    ///
    /// An upload whose lease is lost is no longer ``isHeld``.
    static func keepAlive(_ intents: [UploadIntent]) throws {
        guard let keeper = intents.first?.keeper,
            intents.contains(where: { $0.renewed.duration(to: .now) > renewalInterval })
        else { return }
        let end = leaseEnd(keeper)
        let areOurs = try keeper.store.transaction { session in
            try intents.map { try session.renewLease(of: $0.item, by: $0.leaseOwner, until: end) }
        }
        for (intent, isOurs) in zip(intents, areOurs) where isOurs { intent.renewed = .now }
    }

    /// Whether the lease lasts long enough for an upload that begins now, if ``keepAlive(_:)`` has just been called.
    var isHeld: Bool { renewed.duration(to: .now) <= Self.renewalInterval * 1.5 }

    /// Ends intents for which no byte has been sent to the cloud. Errors are ignored, since the leases expire.
    static func withdraw(_ intents: [UploadIntent]) {
        guard let keeper = intents.first?.keeper else { return }
        do {
            try keeper.store.transaction { session in
                for intent in intents { try session.complete(intent.item, by: intent.leaseOwner) }
            }
        } catch { keeper.note(error) }
    }

    private func renew() throws {
        let isOurs = try keeper.store.repeatedStatement { session in
            try session.renewLease(of: item, by: leaseOwner, until: fixedEnd ?? Self.leaseEnd(keeper))
        }
        guard isOurs else { throw Refusal(.uploadConflict) }
        renewed = .now
    }

    /// Checks that the object about to be created can still be staged: the database is available, and this upload still
    /// holds the lease long enough.
    ///
    /// A very recent renewal is sufficient proof.
    /// - Throws: ``StoreError``, ``ErrorCode/uploadConflict``.
    func confirm() throws {
        let age = renewed.duration(to: .now)
        guard age > Self.confirmationAge else { return }
        guard age < Self.confirmationLimit else { return try renew() }
        let isOurs = try keeper.store.withSession { try $0.isLeased(item, by: leaseOwner) }
        guard isOurs else { throw Refusal(.uploadConflict) }
    }

    /// Discards the object: the jobs role deletes it at once, if it exists. Errors are ignored, since the lease
    /// expires.
    func giveUp() {
        do {
            try keeper.store.withSession { try $0.releaseLease(of: item, by: leaseOwner, at: keeper.now()) }
        } catch { keeper.note(error) }
    }

    private static func leaseEnd(_ keeper: IntentKeeper) -> WireDate {
        WireDate(secondsSince1970: keeper.now().secondsSince1970 + leaseSeconds)
    }
}

/// The body from a client that knows a file by its owner's former storage, and announces that storage's checksum. It is
/// collected in memory, since the current storage requires a hash that depends on all the bytes.
///
/// Such a client reads the index before its next upload, so this is needed only for the few clients that ignore the
/// change.
final class CollectedBody {
    /// The largest body collected.
    private static let limitBytes: Int64 = 8 << 20

    let content: BytesContent
    /// The hashes for the current storage.
    let hashes: ContentHashes
    private let budget: PartBudget
    private let reservedBytes: Int

    /// Reads the whole body.
    /// - Parameter checkSum: the announced one, in the canonical form of its flavour.
    /// - Throws: ``ErrorCode/checksumMismatch`` if the checksum differs, or the body is too large to collect;
    ///   ``ErrorCode/busy`` if there is currently no memory for it.
    init(
        of context: RequestContext, lengthBytes: Int64, _ checkSum: CheckSum, for storageType: CloudStorageType
    ) throws {
        guard checkSum.flavour != nil, lengthBytes <= Self.limitBytes else { throw Refusal(.checksumMismatch) }
        budget = context.services.partBudget
        let bytes = Int(lengthBytes)
        guard budget.take(exactly: bytes) else { throw Refusal.directionFull }
        reservedBytes = bytes
        // Until all properties are set, there is no instance whose deinitializer would return the memory.
        do {
            let body = try context.body.readWhole()
            var surplus: [UInt8] = [0]
            guard try context.body.read(into: &surplus) == 0 else { throw Refusal(.bodyLengthMismatch) }
            (content, hashes) = try BytesContent.verified(body, checkSum, for: storageType)
        } catch {
            budget.putBack(bytes)
            throw error
        }
    }

    deinit { budget.putBack(reservedBytes) }
}

extension BytesContent {
    /// Bytes in memory as the content of an upload, with their hashes for the storage.
    /// - Parameter checkSum: the announced checksum, in the canonical form of its flavour.
    /// - Throws: ``ErrorCode/checksumMismatch``.
    static func verified(
        _ bytes: [UInt8], _ checkSum: CheckSum, for storageType: CloudStorageType
    ) throws(Refusal) -> (content: BytesContent, hashes: ContentHashes) {
        var hasher = ContentHasher(for: storageType)
        hasher.update(bytes.span)
        let hashes = hasher.finish()
        var arrived: CheckSum? = hashes.checkSum
        if let flavour = checkSum.flavour, flavour != storageType.checkSumFlavour {
            var announced = CheckSumHasher(flavour: flavour)
            announced.update(bytes.span)
            arrived = announced.finish()
        }
        guard arrived == checkSum else { throw Refusal(.checksumMismatch) }
        return (BytesContent(bytes, hash: hashes.providerHash), hashes)
    }
}
