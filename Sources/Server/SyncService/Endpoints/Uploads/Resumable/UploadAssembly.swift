import Logging
import Providers
import Store
import SyncProtocol
import Vault

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
            throw EndpointError.uploadUnknown
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
            throw EndpointError.uploadConflict
        }
        var fresh = upload
        fresh.progress = .none
        guard let recorder = try recorder(fresh, plan.owner, plan.identity) else { throw EndpointError.uploadConflict }
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
            throw EndpointError.uploadOffsetMismatch(current: 0)
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
            throw EndpointError.uploadConflict
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
            throw EndpointError.checkSumMismatch
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
                throw EndpointError.pieceTooSmall(minimumBytes: ended.keepsMultiplesOf)
            }
            return piece.reply(storedBytes: storedBytes, of: upload, in: context)
        } catch let error as EndpointError where error == .checkSumMismatch || error == .contentMismatch {
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
        } catch EndpointError.checkSumMismatch {
            forget(upload, intent)
            throw EndpointError.checkSumMismatch
        }
    }

    // MARK: The file

    /// Records that all bytes have arrived, and stages the file.
    private func stage(
        recorded content: StoredContent, _ intent: UploadIntent, _ upload: ResumableUpload
    ) throws -> EndpointReply {
        let text = try KeptContent(content).text
        guard try context.store.transaction({ try $0.record(content: text, of: upload.uploadUUID, by: writer) }) else {
            throw EndpointError.uploadConflict
        }
        return try stage(content, intent, upload)
    }

    /// Completes the upload's goal with the object; if the master version is stale, the object stays for the next
    /// request.
    private func stage(
        _ content: StoredContent, _ intent: UploadIntent, _ upload: ResumableUpload
    ) throws -> EndpointReply {
        let completion: UploadCompletion
        do {
            completion = try goal.complete(with: content, intent)
        } catch let error as EndpointError {
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
