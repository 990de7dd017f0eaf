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
    /// - Returns: the file's number of bytes; `nil` if it no longer waited for them when they had arrived.
    /// - Throws: ``MoveSourceFailure``, ``MoveInterrupted``; ``ErrorCode/contentMismatch`` if these are no longer the
    ///   version's bytes; the errors of uploads.
    mutating func run() throws -> Int64? {
        let object = try lookUp()
        let bytes = MoveSource(
            storage: source, objectID: object.objectID, lengthBytes: former.sizeBytes ?? object.sizeBytes,
            bytesPerSecond: bytesPerSecond, pause: pause, goesOn: goesOn)
        let prepared = try prepare(bytes, object)
        // The deadline restarts, however long the reading took.
        destination.access.deadline = .after(ContentMover.stepTime)
        let name = former.cloudName
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
            former.providerHash != nil || former.owningUser.storageType.traits.reportsCheckSum, hash != known
        {
            throw Refusal(.contentMismatch)
        }
        return object
    }

    /// The proof that bytes are the version's: the hashes known since the upload or, for very old files without any,
    /// what the former provider reports.
    private func identity(_ object: StoredObject, _ sha256: [UInt8]?) -> ContentIdentity {
        let reported =
            former.owningUser.storageType.traits.reportsCheckSum ? object.providerHash.flatMap { CheckSum($0) } : nil
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
        if !isSmall, owner.storageType.traits.providerHash != .checkSum { return .inParts(hash: nil, sha256: sha256) }
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

    // MARK: The current account

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

/// The former account does not provide a file's bytes.
struct MoveSourceFailure: Error {
    let cause: CloudStorageError
}

/// The process must stop, or another one has taken over the move: the file starts over.
struct MoveInterrupted: Error {}

/// The bytes of one file in its owner's former account, read in pieces, no faster than the limit for moves.
struct MoveSource {
    /// The number of bytes read and held in memory at a time, unless a test sets another.
    static let usualWindowBytes = 8 << 20
    private static let patience: Duration = .seconds(60)
    private static let longestPause: Duration = .seconds(1)

    let storage: UserStorage
    let objectID: String
    let lengthBytes: Int64
    /// The pace of moves; `nil` for no limit.
    let bytesPerSecond: Int?
    let pause: @Sendable (Duration) -> Void
    /// Called for each piece that arrives and during each pause; ends the reading by throwing.
    let goesOn: () throws -> Void
    var windowBytes = MoveSource.usualWindowBytes

    /// Reads the bytes from `start`: all that are left, or ``windowBytes`` of them.
    /// - Throws: ``MoveSourceFailure``, ``ErrorCode/contentMismatch`` if the object has a different length; the
    ///   errors of ``goesOn``.
    func window(at start: Int64) throws -> [UInt8] {
        let began = ContinuousClock.now
        let wanted = Int(min(Int64(windowBytes), lengthBytes - start))
        let isWhole = Int64(wanted) == lengthBytes
        var bytes: [UInt8] = []
        bytes.reserveCapacity(wanted)
        var hasOtherLength = false
        var obstacle: (any Error)?
        var access = storage.access
        access.deadline = .after(Self.patience)
        do {
            try storage.provider.download(
                objectID: objectID, range: isWhole ? nil : start...(start + Int64(wanted) - 1), from: access,
                begin: { length in hasOtherLength = length.map { $0 != lengthBytes } ?? false },
                receive: { piece in
                    guard !hasOtherLength, bytes.count + piece.count <= wanted else {
                        hasOtherLength = true
                        return false
                    }
                    bytes.append(copying: piece)
                    do { try goesOn() } catch { obstacle = error }
                    return obstacle == nil
                })
        } catch {
            if hasOtherLength { throw Refusal(.contentMismatch) }
            throw obstacle ?? MoveSourceFailure(cause: error)
        }
        guard bytes.count == wanted else { throw Refusal(.contentMismatch) }
        try rest(since: began, bytes.count)
        return bytes
    }

    /// Waits until `bytes` have taken as long as the limit requires.
    private func rest(since began: ContinuousClock.Instant, _ bytes: Int) throws {
        guard let bytesPerSecond else { return }
        let end = began + .seconds(Double(bytes) / Double(bytesPerSecond))
        while true {
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { return }
            pause(min(left, Self.longestPause))
            try goesOn()
        }
    }
}

/// The bytes of a large file being moved, as the content of an upload: each part is read from the former account when
/// the new one is ready for it.
///
/// The last part is passed on only after all bytes have been verified as the version's.
final class MovedContent: UploadContent {
    /// The largest part held in memory.
    private static let largestPartBytes = 64 << 20

    let lengthBytes: Int64
    private let source: MoveSource
    /// The hash that the provider must report, if known in advance.
    private let expectedHash: String?
    private var identity: ContentIdentity
    private let beforeEnd: () throws -> Void
    private var hasher: ContentHasher
    /// Bytes from a position onwards that were read but not yet handed out.
    private var window: [UInt8] = []
    private var windowPosition = 0
    /// The hashes of the whole content; known once all of it has been read.
    private(set) var hashes: ContentHashes?

    /// - Parameters:
    ///   - storageType: the storage that receives the bytes.
    ///   - expectedHash: required if the provider must know it before it gets the bytes.
    ///   - beforeEnd: called when everything has been read and verified, before the end is passed on.
    init(
        _ source: MoveSource, to storageType: CloudStorageType, expecting expectedHash: String?,
        provenBy identity: ContentIdentity, beforeEnd: @escaping () throws -> Void
    ) {
        self.source = source
        lengthBytes = source.lengthBytes
        self.expectedHash = expectedHash
        self.identity = identity
        self.beforeEnd = beforeEnd
        hasher = ContentHasher(for: storageType)
    }

    var providerHash: String { hashes?.providerHash ?? expectedHash ?? "" }

    func reserveMemory(partBytes: Int) -> Bool { partBytes <= Self.largestPartBytes }

    func nextPart(granularity: Int, atMost limit: Int) throws -> UploadPart {
        let start = hasher.lengthBytes
        let most = min(max(source.windowBytes / granularity, 1) * granularity, limit)
        let count = Int(min(Int64(most), lengthBytes - start))
        var bytes = [UInt8](repeating: 0, count: count)
        try fill(&bytes, 0..<count)
        return UploadPart(bytes: bytes[...], offset: start, isLast: hasher.lengthBytes == lengthBytes)
    }

    func rest() -> UploadPart {
        let start = hasher.lengthBytes
        let window = PartWindow(
            count: Int(lengthBytes - start), buffer: [], arrivedBytes: 0, isSliding: true
        ) { buffer, range in try self.fill(&buffer, range) }
        return UploadPart(window, offset: start, isLast: true)
    }

    private func fill(_ buffer: inout [UInt8], _ range: Range<Int>) throws {
        var position = range.lowerBound
        while position < range.upperBound {
            if windowPosition == window.count {
                window = try source.window(at: hasher.lengthBytes)
                windowPosition = 0
            }
            let piece = windowPosition..<min(windowPosition + range.upperBound - position, window.count)
            buffer.replaceSubrange(position..<(position + piece.count), with: window[piece])
            hasher.update(window.span.extracting(piece))
            identity.update(window.span.extracting(piece))
            windowPosition = piece.upperBound
            position += piece.count
        }
        if hasher.lengthBytes == lengthBytes, hashes == nil { try verifyEnd() }
    }

    private func verifyEnd() throws {
        try identity.verify()
        let hashes = hasher.finish()
        guard expectedHash.map({ $0 == hashes.providerHash }) ?? true else { throw Refusal(.contentMismatch) }
        self.hashes = hashes
        try beforeEnd()
    }
}
