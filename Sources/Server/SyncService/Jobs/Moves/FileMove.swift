import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// The move of one file from its owner's former account to the current one.
struct FileMove {
    let move: AccountMove
    let content: MovingContent
    /// The file as it was before the switch.
    let former: FileRecord
    let source: UserStorage
    /// The owner in their current account, and its storage.
    let owner: OwningUser
    var destination: UserStorage
    let intents: IntentKeeper
    let bytesPerSecond: Int?
    let pause: @Sendable (Duration) -> Void
    /// Called often; throws to stop the move.
    let goesOn: () throws -> Void

    /// Moves the file.
    /// - Returns: its number of bytes; `nil` if it no longer waited when they had arrived.
    /// - Throws: ``MoveSourceFailure``, ``MoveInterrupted``; `EndpointError.contentMismatch` if these are no longer the
    ///   version's bytes; the errors of uploads.
    mutating func run() throws -> Int64? {
        let object = try lookUp()
        let bytes = MoveSource(
            storage: source, objectID: object.objectID, lengthBytes: former.sizeBytes ?? object.sizeBytes,
            bytesPerSecond: bytesPerSecond, pause: pause, goesOn: goesOn)
        let prepared = try prepare(bytes, object)
        // The deadline restarts, however long the reading took.
        destination.access.deadline = .after(ContentMover.stepTime)
        let name = former.cloudName(.standard)
        let reservation = try destination.provider.reserve(name: name.rawValue, in: destination.access)
        let intent = try UploadIntent.commit(toStore: reservation, in: owner, destination, by: intents)
        do {
            let stored = try send(prepared, bytes, under: intent, object)
            guard try record(stored, intent) else {
                intent.giveUp()
                return nil
            }
            return bytes.lengthBytes
        } catch {
            intent.giveUp()
            throw error
        }
    }

    // MARK: The former account

    /// Looks up the object, so that a changed one is not read.
    private func lookUp() throws -> StoredObject {
        let object: StoredObject?
        do {
            object =
                if let objectID = former.objectID {
                    try source.provider.describe(objectID: objectID, in: source.access)
                } else {
                    try source.provider.find(name: former.nameByOlderServer.rawValue, in: source.access)
                }
        } catch {
            throw MoveSourceFailure(cause: error)
        }
        guard let object else { throw MoveSourceFailure(cause: .notFound) }
        if let hash = object.providerHash, let known = former.providerHash ?? former.checkSum?.rawValue,
            former.providerHash != nil || former.owningUser.storageType.reportsCheckSum, hash != known
        {
            throw EndpointError.contentMismatch
        }
        return object
    }

    /// The proof that bytes are the version's: the hashes known since the upload or, for very old files without any,
    /// what the former provider reports.
    private func identity(_ object: StoredObject, _ sha256: [UInt8]?) -> ContentIdentity {
        let reported =
            former.owningUser.storageType.reportsCheckSum ? object.providerHash.flatMap { CheckSum($0) } : nil
        return ContentIdentity(
            checkSum: former.checkSum
                ?? reported?.canonical(as: former.owningUser.storageType.checkSumFlavour),
            sha256: [sha256].compactMap(\.self))
    }

    /// The preparation for the upload of a file.
    private enum Prepared {
        /// A small file, verified.
        case whole([UInt8], ContentHashes)
        /// A large file, with the hash that the new provider requires in advance, if any.
        case inParts(hash: String?, sha256: [UInt8]?)
    }

    /// Reads a small file. A large one is read now only if the known hashes do not include the one for the new
    /// provider; it is then read twice, since it is too large for memory.
    private func prepare(_ bytes: MoveSource, _ object: StoredObject) throws -> Prepared {
        let sha256 = try intents.store.withSession { try $0.sha256(of: content.fileUUID, in: content.groupID) }
        let isSmall = bytes.lengthBytes <= Int64(bytes.windowBytes)
        if !isSmall, owner.storageType == .microsoft { return .inParts(hash: nil, sha256: sha256) }
        if !isSmall, let known = former.checkSum?.canonical(as: owner.storageType.checkSumFlavour) {
            return .inParts(hash: known.rawValue, sha256: sha256)
        }
        var identity = identity(object, sha256)
        var hasher = ContentHasher(for: owner.storageType)
        var window: [UInt8] = []
        repeat {
            window = try bytes.window(at: hasher.lengthBytes)
            hasher.update(window)
            identity.update(window.span)
        } while hasher.lengthBytes < bytes.lengthBytes
        try identity.verify()
        let hashes = hasher.finish()
        return isSmall ? .whole(window, hashes) : .inParts(hash: hashes.providerHash, sha256: sha256)
    }

    // MARK: The present account

    private func send(
        _ prepared: Prepared, _ bytes: MoveSource, under intent: UploadIntent, _ object: StoredObject
    ) throws -> StoredContent {
        switch prepared {
        case .whole(let all, let hashes):
            let content = BytesContent(all, for: owner.storageType)
            let stored = try destination.upload(content, as: intent.reservation, former.mimeType)
            return StoredContent(stored, ofBytes: bytes.lengthBytes, hashes, in: owner)
        case .inParts(let hash, let sha256):
            let guarded = MoveSource(
                storage: bytes.storage, objectID: bytes.objectID, lengthBytes: bytes.lengthBytes,
                bytesPerSecond: bytesPerSecond, pause: pause,
                goesOn: {
                    try goesOn()
                    try intent.keepAlive()
                })
            let content = MovedContent(
                guarded, to: owner.storageType, expecting: hash, provenBy: identity(object, sha256),
                beforeEnd: { try intent.confirm() })
            let stored = try destination.upload(content, as: intent.reservation, former.mimeType)
            guard let hashes = content.hashes else { throw CloudStorageError.contentMismatch }
            return StoredContent(stored, ofBytes: bytes.lengthBytes, hashes, in: owner)
        }
    }

    /// Writes the row, if the file still waits for this version.
    private func record(_ stored: StoredContent, _ intent: UploadIntent) throws -> Bool {
        try intents.store.transaction { session in
            do { _ = try session.lockMasterVersionExclusive(of: content.groupID) } catch StoreError.notFound {
                return false
            }
            let file = try session.file(content.fileUUID, in: content.groupID, locked: true)
            guard content.formerFile(of: file, in: move.former) != nil, file?.owningUser == owner,
                try session.isMember(owner.userID, of: content.groupID)
            else { return false }
            try session.restoreContent(
                stored, of: content.fileUUID, from: former.deviceUUID, in: content.groupID)
            try session.countMoved(stored.sizeBytes ?? 0, in: move.switchID)
            try intent.end(storing: stored, using: &session)
            return true
        }
    }
}
