import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Forwards a piece of an upload to the owner's storage; the last piece stages the file.
///
/// The provider's own upload session keeps the bytes, so any process of any host may receive the next piece. Only one
/// request sends bytes of an upload: a later request takes it over, and the earlier one can no longer record anything.
/// A staged upload keeps its reply for repeated requests.
struct AppendToUploadEndpoint: TransferEndpoint {
    func admit(_ request: AppendToUploadRequest, from caller: GroupCaller, in context: RequestContext) throws {
        // The request does not wait here, since this role has few threads.
        let upload = try context.presentUpload(request.uploadUUID, of: caller.userID, on: caller.device)
        let piece = try Piece(of: upload, context.head, isDirect: request.isDirect)
        let purpose = try UploadPurpose(stored: upload.request)
        _ = try caller.member(of: purpose.sharingGroupUUID, in: context.store)
        guard upload.reply == nil else { return }
        let goal = purpose.goal(from: request.masterVersion, by: caller, in: context)
        try context.requirePresentOwner(of: upload, for: goal, by: caller)
        guard upload.writer.map(\.isAnnounced) ?? true else { return }
        if !piece.confirmsDirectUpload(upload) { try piece.check(against: upload) }
        // From now on, requests for the offset wait for this piece.
        let writer = ResumableUpload.Writer(try context.writer, isAnnounced: true)
        try context.store.transaction { try $0.announce(writer, of: upload.uploadUUID) }
    }

    func respond(
        to request: AppendToUploadRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let upload = try context.resumableUpload(request.uploadUUID, of: caller.userID, on: caller.device)
        let piece = try Piece(of: upload, context.head, isDirect: request.isDirect)
        if let reply = upload.reply { return piece.reply(reply, of: upload, in: context) }
        let goal = try UploadPurpose(stored: upload.request).goal(from: request.masterVersion, by: caller, in: context)
        return try UploadAssembly(goal: goal, caller: caller, piece: piece, context: context).run(upload)
    }
}

extension AppendToUploadRequest: AdmittedRequest {
    typealias Handler = AppendToUploadEndpoint
}

/// A piece of an upload, as described by its request.
struct Piece {
    let dialect: UploadDialect
    let offset: Int64
    let lengthBytes: Int64
    let digest: PieceDigest?
    /// Whether the client reports that it has sent all bytes directly to the owner's storage.
    private let isDirect: Bool

    init(dialect: UploadDialect, offset: Int64, lengthBytes: Int64) {
        isDirect = false
        self.dialect = dialect
        self.offset = offset
        self.lengthBytes = lengthBytes
        digest = nil
    }

    init(of upload: ResumableUpload, _ head: RequestHead, isDirect: Bool = false) throws(Refusal) {
        self.isDirect = isDirect
        dialect = UploadDialect(head)
        try dialect.check(head)
        try dialect.checkMediaType(head)
        offset = try head.byteCount(.uploadOffset)
        guard let length = head.contentLength else { throw Refusal(.lengthRequired) }
        lengthBytes = length
        digest = try PieceDigest(head)
        guard offset == upload.progress.storedBytes || upload.reply != nil else { return }
        try checkEnd(against: upload)
        if try dialect.saysComplete(head) == true, end != upload.lengthBytes { throw Refusal(.bodyLengthMismatch) }
    }

    /// The position after the last byte.
    var end: Int64 { offset + lengthBytes }

    func check(against upload: ResumableUpload) throws(Refusal) {
        guard offset == upload.progress.storedBytes else {
            throw .uploadOffsetMismatch(current: upload.progress.storedBytes)
        }
        // The upload may not have been known when the piece was read.
        try checkEnd(against: upload)
    }

    private func checkEnd(against upload: ResumableUpload) throws(Refusal) {
        guard lengthBytes <= upload.lengthBytes, offset <= upload.lengthBytes - lengthBytes else {
            throw .bodyTooLarge(maximumBytes: max(0, upload.lengthBytes - offset))
        }
    }

    /// Whether nothing is left to send, since the client has sent everything to its direct address.
    func confirmsDirectUpload(_ upload: ResumableUpload) -> Bool {
        isDirect && upload.directUntil != nil && lengthBytes == 0 && offset == upload.lengthBytes
    }

    /// The reply once all bytes have arrived.
    /// - Parameter text: the reply that UploadFile would have sent.
    func reply(_ text: String, of upload: ResumableUpload, in context: RequestContext) -> EndpointReply {
        context.replyHeaders = dialect.headers(
            storedBytes: upload.lengthBytes, of: upload.lengthBytes, isComplete: true)
        return .header(text, status: dialect == .tus ? 204 : 200)
    }

    /// The reply while more bytes are expected.
    func reply(storedBytes: Int64, of upload: ResumableUpload, in context: RequestContext) -> EndpointReply {
        context.replyHeaders =
            dialect.headers(storedBytes: storedBytes, of: upload.lengthBytes, isComplete: false) + [
                (
                    ResponseHeader.uploadExpires.rawValue,
                    HTTPDate(secondsSince1970: upload.expiresAt.secondsSince1970).text
                )
            ]
        return .header(AppendToUploadResponse.incomplete, status: 204)
    }
}

/// The work of one request on an upload in pieces.
struct UploadAssembly {
    let goal: any UploadGoal
    let caller: GroupCaller
    let piece: Piece
    let context: RequestContext
    /// This request's name in the row.
    let writer: String

    init(goal: any UploadGoal, caller: GroupCaller, piece: Piece, context: RequestContext) throws {
        self.goal = goal
        self.caller = caller
        self.piece = piece
        self.context = context
        writer = try context.writer
    }

    func run(_ found: ResumableUpload) throws -> EndpointReply {
        guard let upload = try context.store.transaction({ try $0.takeOver(found.uploadUUID, as: writer) }) else {
            throw Refusal(.uploadUnknown)
        }
        defer { end(upload) }
        if let reply = upload.reply { return piece.reply(reply, of: upload, in: context) }
        try context.requirePresentOwner(of: upload, for: goal, by: caller)
        if !piece.confirmsDirectUpload(upload) { try piece.check(against: upload) }
        try piece.digest?.check(context.body, lengthBytes: piece.lengthBytes)
        if let text = upload.content, let destination = upload.destination {
            let content = try KeptContent(text).stored(in: destination.owner)
            let member = try caller.member(of: goal.sharingGroupUUID, in: context.store)
            let storage = try context.storage(of: destination.owner, for: member.user)
            return try stage(
                content, try UploadIntent.existing(of: upload, destination, storage, by: context.intents), upload)
        }
        if piece.confirmsDirectUpload(upload), let destination = upload.destination {
            return try confirm(upload, at: destination)
        }
        switch try upload.destination.map({ try existing(upload, $0) }) ?? begin(upload) {
        case .answered(let response): return .header(response)
        case .decided(let target): return try transfer(upload, to: target)
        }
    }

    private struct Target {
        var storage: UserStorage
        var owner: OwningUser
        var intent: UploadIntent
        var recorder: UploadRecorder
    }

    // MARK: Where the bytes go

    /// Reserves a name at the provider for the first bytes, and commits the intent to use it.
    private func begin(_ upload: ResumableUpload) throws -> UploadAnswer<Target> {
        let plan: UploadDestinationPlan
        switch try goal.destination(ofBytes: upload.lengthBytes) {
        case .answered(let response): return .answered(response)
        case .decided(let decided): plan = decided
        }
        let storage = try context.storage(of: plan.owner, for: plan.member.user)
        let reservation = try storage.provider.reserve(name: plan.name.rawValue, in: storage.access)
        let intent = try UploadIntent.commit(
            toStore: reservation, in: plan.owner, storage, of: upload, by: context.intents)
        let destination = UploadDestination(of: intent, in: plan.owner)
        let isOurs = try context.store.transaction { try $0.record(destination, of: upload.uploadUUID, by: writer) }
        guard isOurs else {
            intent.giveUp()
            throw Refusal(.uploadConflict)
        }
        var fresh = upload
        fresh.progress = .none
        guard let recorder = try recorder(fresh, plan.owner, plan.identity) else { throw Refusal(.uploadConflict) }
        return .decided(Target(storage: storage, owner: plan.owner, intent: intent, recorder: recorder))
    }

    private func existing(
        _ upload: ResumableUpload, _ destination: UploadDestination
    ) throws -> UploadAnswer<Target> {
        let member = try caller.member(of: goal.sharingGroupUUID, in: context.store)
        let identity: ContentIdentity?
        switch try goal.identity(ofBytes: upload.lengthBytes) {
        case .answered(let response):
            try context.store.transaction { session in
                try session.releaseLease(
                    of: destination.intent, by: upload.uploadUUID.rawValue, at: context.services.now())
                try session.record(reply: response.headerText, of: upload.uploadUUID)
            }
            return .answered(response)
        case .decided(let known): identity = known
        }
        let storage = try context.storage(of: destination.owner, for: member.user)
        let destination = try inPresentFolder(destination, of: upload, storage)
        let intent = try UploadIntent.existing(of: upload, destination, storage, by: context.intents)
        guard let recorder = try recorder(upload, destination.owner, identity) else {
            _ = try context.store.transaction { try $0.record(.none, of: upload.uploadUUID, by: writer) }
            throw Refusal.uploadOffsetMismatch(current: 0)
        }
        return .decided(Target(storage: storage, owner: destination.owner, intent: intent, recorder: recorder))
    }

    /// The destination of an upload; in the current folder if the provider has no bytes of it yet.
    private func inPresentFolder(
        _ destination: UploadDestination, of upload: ResumableUpload, _ storage: UserStorage
    ) throws -> UploadDestination {
        guard upload.progress.session == nil else { return destination }
        let present = try destination.inPresentFolder(of: storage)
        guard present != destination else { return destination }
        guard try context.store.transaction({ try $0.record(present, of: upload.uploadUUID, by: writer) }) else {
            throw Refusal(.uploadConflict)
        }
        return present
    }

    private func recorder(
        _ upload: ResumableUpload, _ owner: OwningUser, _ identity: ContentIdentity?
    ) throws -> UploadRecorder? {
        try UploadRecorder(
            of: upload, into: owner.storageType, provenBy: identity, by: writer, pieceEnd: piece.end, context: context)
    }

    // MARK: Bytes

    private func transfer(_ upload: ResumableUpload, to target: Target) throws -> EndpointReply {
        guard let expected = goal.checkSum.canonical(as: target.owner.storageType.checkSumFlavour) else {
            throw Refusal(.checksumMismatch)
        }
        let content = PhoneUpload(
            context.body, lengthBytes: upload.lengthBytes, expected: expected, storageType: target.owner.storageType,
            budget: context.services.partBudget, recorder: target.recorder,
            keepAlive: { try target.recorder.keepAlive() }, beforeEnd: { try target.intent.confirm() })
        let stored: StoredObject
        do {
            stored = try target.storage.upload(content, as: target.intent.reservation, goal.mimeType)
        } catch let ended as PieceEnded {
            let storedBytes = target.recorder.progress.storedBytes
            guard storedBytes > piece.offset || piece.lengthBytes == 0 else {
                throw Refusal(
                    .pieceTooSmall,
                    "every piece except the last must have at least \(ended.keepsMultiplesOf) bytes")
            }
            return piece.reply(storedBytes: storedBytes, of: upload, in: context)
        } catch let error as Refusal where [.checksumMismatch, .contentMismatch].contains(error.code) {
            // The bytes are not those of the upload, which can therefore never succeed.
            forget(upload, target.intent)
            throw error
        } catch CloudStorageError.contentMismatch {
            forget(upload, target.intent)
            throw CloudStorageError.contentMismatch
        }
        guard let hashes = content.hashes else { throw CloudStorageError.contentMismatch }
        context.restartClock()
        return try stage(
            recorded: StoredContent(stored, ofBytes: upload.lengthBytes, hashes, in: target.owner), target.intent,
            upload)
    }

    /// Stages the bytes that the client has sent directly to the owner's storage, if they match the announcement.
    private func confirm(_ upload: ResumableUpload, at destination: UploadDestination) throws -> EndpointReply {
        let owner = destination.owner
        let member = try caller.member(of: goal.sharingGroupUUID, in: context.store)
        let storage = try context.storage(of: owner, for: member.user)
        let intent = try UploadIntent.existing(of: upload, destination, storage, by: context.intents)
        let check = DirectUploadCheck(
            checkSum: goal.checkSum, storageHash: goal.storageHash, storage: storage, intent: intent, context: context)
        do {
            return try stage(recorded: try check.run(upload, in: owner), intent, upload)
        } catch Refusal(.checksumMismatch) {
            forget(upload, intent)
            throw Refusal(.checksumMismatch)
        }
    }

    // MARK: The file

    /// Records that all bytes have arrived, and stages the file.
    private func stage(
        recorded content: StoredContent, _ intent: UploadIntent, _ upload: ResumableUpload
    ) throws -> EndpointReply {
        let text = try KeptContent(content).text
        guard try context.store.transaction({ try $0.record(content: text, of: upload.uploadUUID, by: writer) }) else {
            throw Refusal(.uploadConflict)
        }
        return try stage(content, intent, upload)
    }

    /// Uses the object to complete the action for which it was uploaded; if the master version is stale, the object is
    /// kept for the next request.
    private func stage(
        _ content: StoredContent, _ intent: UploadIntent, _ upload: ResumableUpload
    ) throws -> EndpointReply {
        let completion: UploadCompletion
        do {
            completion = try goal.complete(with: content, intent)
        } catch let error as Refusal {
            // This failure is permanent.
            forget(upload, intent)
            throw error
        }
        if completion.response.isStale { return stale(completion.response, upload) }
        if !completion.isObjectUsed { intent.giveUp() }
        let text = completion.response.headerText
        try context.store.transaction { try $0.record(reply: text, of: upload.uploadUUID) }
        return piece.reply(text, of: upload, in: context)
    }

    private func stale(_ response: any ResponseMessage, _ upload: ResumableUpload) -> EndpointReply {
        context.replyHeaders = piece.dialect.headers(
            storedBytes: upload.lengthBytes, of: upload.lengthBytes, isComplete: false)
        return .header(response)
    }

    // MARK: Ends

    private func end(_ upload: ResumableUpload) {
        do {
            try context.store.withSession { try $0.endWriting(to: upload.uploadUUID, by: writer) }
        } catch {
            context.logger.info("Could not record the end of a piece", metadata: .keyed([.reason: "\(error)"]))
        }
    }

    /// Ends the upload, which cannot succeed.
    private func forget(_ upload: ResumableUpload, _ intent: UploadIntent) {
        intent.giveUp()
        do {
            try context.store.transaction { session in
                _ = try session.abandonUpload(
                    upload.uploadUUID, of: caller.userID, on: caller.device, at: context.services.now())
            }
        } catch {
            context.logger.info(
                "Could not end an upload: it remains until it expires", metadata: .keyed([.reason: "\(error)"]))
        }
    }
}
