import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// The data path from the cloud to the phone.
///
/// The reply's header announces the checksum before the bytes. The bytes are hashed as they pass, and the last ones are
/// held back until the checksum is verified; if it does not match, the server cuts the connection. A phone never gets a
/// complete body that does not match the header.
///
/// If the provider reports a different kind of hash, only the uploader vouches for the checksum of a directly uploaded
/// file. The first download verifies it: if the checksum is wrong, the server records the real one and announces it
/// from then on.
///
/// The checksum of the whole cannot verify a part. A part is sent only after the provider has confirmed that the object
/// still has the announced bytes, and while their length matches; the phone verifies the assembled file. A range that
/// covers the whole object is verified like the whole.
final class DownloadStream {
    /// The number of bytes held back at the end.
    private static let heldBackBytes = 64 * 1024
    /// An object up to this size is read again at once if its bytes differ from the announced ones.
    private static let readAgainBytes: Int64 = 8 << 20
    /// How long bytes may arrive without any being passed on: a provider that sends the held-back bytes one by one
    /// would occupy the thread for hours.
    private static let longestPause: Duration = .seconds(60)

    private let file: FileRecord
    private let object: StoredObject
    private let storage: UserStorage
    private let context: RequestContext
    /// The positions to send; `nil` for a reply with the whole object.
    private let positions: ClosedRange<Int64>?
    private let tag: EntityTag
    private let announced: CheckSum
    private let contentsChanged: Bool
    /// Whether all bytes of the object are sent.
    private let isWhole: Bool
    private var verifier: DownloadVerifier?
    private var collector = PieceCollector()
    private var heldBack: [UInt8] = []
    /// The length of the whole object: as sent by the provider or, failing that, as described.
    private var wholeBytes: Int64
    /// The number of bytes to send.
    private var lengthBytes: Int64
    private var received: Int64 = 0
    private var hasStarted = false
    private let now: () -> ContinuousClock.Instant
    private var lastPassedOn: ContinuousClock.Instant
    private var failure: (any Error)?

    /// - Parameters:
    ///   - positions: which bytes to send; `nil` for all of them, in a reply that is not partial.
    ///   - now: the clock; tests pass one that they control.
    init(
        _ positions: ClosedRange<Int64>?, of file: FileRecord, object: StoredObject, contents: PresentContents,
        storage: UserStorage, context: RequestContext, now: @escaping () -> ContinuousClock.Instant = { .now }
    ) {
        self.now = now
        lastPassedOn = now()
        self.positions = positions
        self.file = file
        self.object = object
        wholeBytes = positions == nil ? object.sizeBytes : contents.sizeBytes
        lengthBytes = positions.map { Int64($0.count) } ?? wholeBytes
        self.storage = storage
        self.context = context
        tag = contents.tag
        announced = contents.checkSum
        contentsChanged = contents.hasChanged
        isWhole = lengthBytes == wholeBytes
        verifier =
            isWhole ? DownloadVerifier(of: object, in: file.owningUser.storageType, announced: announced) : nil
    }

    /// Streams the object or the requested part.
    /// - Throws: ``ReplyInterrupted`` or ``ClientGone`` once the reply has begun; before that, the provider's error.
    func run() throws -> EndpointReply {
        do {
            try storage.provider.download(
                objectID: object.objectID, range: isWhole ? nil : positions, from: storage.access, begin: begin,
                receive: receive)
        } catch {
            try failed(error)
        }
        return try end()
    }

    /// - Parameter length: of the whole, as the provider announces it; `nil` if it does not.
    func begin(_ length: Int64?) {
        guard let length, length != wholeBytes else { return }
        // The positions would refer to other bytes.
        if positions != nil { failure = CloudStorageError.contentMismatch }
        (wholeBytes, lengthBytes) = (length, length)
    }

    /// Receives the next bytes; `false` stops the download.
    func receive(_ bytes: Span<UInt8>) -> Bool {
        guard failure == nil else { return false }
        do { try forward(bytes) } catch { failure = error }
        return failure == nil
    }

    /// Ends the reply after the last byte has been received.
    func end() throws -> EndpointReply {
        if let failure { throw failure }
        try finish()
        return .sent(bytes: received, status: positions == nil ? 200 : 206)
    }

    /// Ends the reply because the provider, or ``receive(_:)``, has ended the download.
    func failed(_ error: any Error) throws -> Never {
        if let failure { throw failure }
        if hasStarted { throw ReplyInterrupted(reason: "\(error)") }
        throw error
    }

    private func forward(_ bytes: Span<UInt8>) throws {
        // Bytes before the held-back end are forwarded. If there are none, the reply has not begun, since a head that
        // announces no bytes would complete the reply before the checksum is verified.
        let heldBackBytes = Int64(isWhole ? Self.heldBackBytes : 0)
        let throughBytes = max(0, min(Int64(bytes.count), lengthBytes - heldBackBytes - received))
        let through = Int(throughBytes)
        if through > 0 {
            if !hasStarted { try start() }
            let front = bytes.extracting(first: through)
            verifier?.update(front)
            try collector.add(front, at: .now, passOn: context.connection.write)
            lastPassedOn = now()
        } else if lastPassedOn.duration(to: now()) > Self.longestPause {
            guard hasStarted else { throw CloudStorageError.timedOut }
            throw ReplyInterrupted(reason: "the provider sends the end too slowly")
        }
        if through < bytes.count {
            let rest = bytes.extracting(droppingFirst: through)
            verifier?.update(rest)
            guard heldBack.count + rest.count <= Self.heldBackBytes + 65_536 else {
                guard hasStarted else { throw CloudStorageError.contentMismatch }
                throw ReplyInterrupted(reason: "the object grew while it was read")
            }
            if heldBack.isEmpty { heldBack.reserveCapacity(Self.heldBackBytes + bytes.count) }
            heldBack.append(copying: rest)
        }
        received += Int64(bytes.count)
    }

    private func finish() throws {
        let verdict = verifier.take()?.finish() ?? .right
        guard received == lengthBytes, verdict == .right else {
            reconsider(verdict)
            if hasStarted { throw ReplyInterrupted(reason: "the bytes do not match the announced checksum") }
            throw CloudStorageError.contentMismatch
        }
        if !hasStarted { try start() }
        try collector.passOnRest(context.connection.write)
        let end = heldBack
        try context.connection.write(end.span)
    }

    /// Records the hashes of the bytes if they are what the provider has and were not damaged in transit; discards the
    /// announced hashes if they rest only on an earlier reading.
    ///
    /// If the provider reports no hash, bytes can change while size and revision stay the same, for instance when a
    /// file is copied with its date. A result counts once two readings of the whole object agree.
    private func reconsider(_ verdict: DownloadVerifier.Verdict) {
        let owner = file.owningUser
        guard !owner.storageType.traits.reportsCheckSum || object.providerHash == nil else { return }
        do {
            if received == lengthBytes, case .wrong(let hashes?) = verdict,
                hashes.providerHash == object.providerHash ?? file.providerHash
            {
                let content = KnownContent(providerHash: hashes.providerHash, checkSum: hashes.checkSum)
                try context.store.transaction { session in
                    try session.refute(announced, of: object.objectID, in: owner)
                    try session.remember(content, of: object.objectID, in: owner, at: context.now)
                }
            } else if object.providerHash == nil, PresentContents.unchanged(of: object, as: file) != nil,
                let mark = object.contentMark, received == object.sizeBytes, case .wrong(let hashes?) = verdict
            {
                let found = KnownContent(providerHash: mark, checkSum: hashes.checkSum)
                let isConfirmed = try isConfirmed(found)
                try context.store.transaction { session in
                    if isConfirmed { try session.refute(announced, of: object.objectID, in: owner) }
                    try session.remember(found, of: object.objectID, in: owner, at: context.now)
                }
            } else if object.providerHash == nil {
                try context.store.transaction { try $0.doubt(announced, of: object.objectID, in: owner) }
            }
        } catch {
            context.logger.info(
                "Could not record the hashes of an object",
                metadata: .keyed([.reason: "\(String(reflecting: error))"]))
        }
    }

    /// Whether an earlier reading of the object, or another one made at once, has the same result.
    private func isConfirmed(_ found: KnownContent) throws -> Bool {
        let earlier = try context.store.withSession { session in
            try session.knownContent(of: object.objectID, in: file.owningUser)
        }
        if earlier == found { return true }
        // The client waits for the end of its reply.
        guard object.sizeBytes <= Self.readAgainBytes else { return false }
        return (try? ContentReading.contents(of: object, in: storage, while: { true })) == found
    }

    /// The headers of every reply that contains a file's bytes, or says that the client has them.
    ///
    /// Operating systems must not cache the reply: they would send conditional requests on behalf of clients that do
    /// not expect 304.
    static func headers(for tag: EntityTag) -> [(name: String, value: String)] {
        [(ResponseHeader.entityTag.rawValue, tag.text), ("accept-ranges", "bytes"), ("cache-control", "no-store")]
    }

    private func start() throws {
        hasStarted = true
        let parameters = DownloadFileResponse.found(
            appMetaData: context.headerMetaData(of: file), cloudStorageType: file.owningUser.storageType,
            checkSum: announced,
            contentsChanged: contentsChanged)
        var headers =
            context.services.commonHeaders + [
                (name: ResponseHeader.messageParams.rawValue, value: parameters.headerText),
                (name: "content-type", value: "application/octet-stream"),
                (name: "content-length", value: "\(lengthBytes)"),
            ] + Self.headers(for: tag)
        if let positions {
            let range = "bytes \(positions.lowerBound)-\(positions.upperBound)/\(wholeBytes)"
            headers.append((name: "content-range", value: range))
        }
        try context.connection.start(status: positions == nil ? 200 : 206, headers: headers)
    }
}

/// Combines the pieces in which a provider's bytes arrive, 16 KiB each over TLS, into fewer and larger ones, because
/// each piece passed on wakes the web server.
///
/// No piece waits for a long time: slow bytes are passed on as they arrive.
struct PieceCollector {
    /// Pieces are combined up to this size; larger ones are passed on unchanged.
    static let largestBytes = 64 * 1024
    /// If nothing has been passed on for this long, the next piece is passed on at once.
    static let longestPause: Duration = .milliseconds(10)

    // Keeps its storage, since the kernel would have to clear new memory for each piece.
    private var collected: [UInt8] = []
    private var lastPassed: ContinuousClock.Instant?

    /// Adds a piece.
    /// - Parameter passOn: receives the bytes to pass on now, if any: all pieces added since the last call.
    mutating func add(
        _ piece: Span<UInt8>, at now: ContinuousClock.Instant, passOn: (Span<UInt8>) throws -> Void
    ) rethrows {
        let isDue = lastPassed.map { $0.duration(to: now) > Self.longestPause } ?? true
        // Another piece of the same size would no longer fit.
        let isPassedOn = isDue || collected.count + 2 * piece.count > Self.largestBytes
        if isPassedOn { lastPassed = now }
        if isPassedOn, collected.isEmpty { return try passOn(piece) }
        if collected.isEmpty { collected.reserveCapacity(Self.largestBytes) }
        collected.append(copying: piece)
        if isPassedOn { try passOnRest(passOn) }
    }

    /// Passes on the pieces that are left, if any.
    mutating func passOnRest(_ passOn: (Span<UInt8>) throws -> Void) rethrows {
        guard !collected.isEmpty else { return }
        try passOn(collected.span)
        collected.removeAll(keepingCapacity: true)
    }
}
