import Providers
import Store
import SyncProtocol
import Vault

/// Streams a file version from the phone into its owner's storage and stages it for the next commit.
///
/// The request is checked as far as possible before the first byte is sent, and again when the row is staged, since no
/// lock is held in between. An intent committed beforehand guarantees that an unreferenced object is deleted, wherever
/// the request stops. A duplicate request finds its row and gets the same dates; of two concurrent requests, the second
/// to stage discards only its own object. The last upload of a batch commits the batch (``BatchMember``); a later
/// repetition finds the commit.
struct UploadFileEndpoint: TransferEndpoint {
    func admit(_ request: UploadFileRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try Self.fileExtension(of: request, in: context)
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
    }

    /// Checks the length and the type of the file that the request's head announces.
    private static func fileExtension(
        of request: UploadFileRequest, in context: RequestContext
    ) throws(Refusal) -> String {
        try request.fileExtension(ofBytes: context.head.contentLength, context.services.settings)
    }

    func respond(
        to request: UploadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        guard let length = context.head.contentLength else { throw Refusal(.lengthRequired) }
        let fileExtension = try Self.fileExtension(of: request, in: context)
        let plan: UploadPlan
        let step: StagingStep
        switch try UploadCheck(request: request, caller: caller, context: context).run() {
        case .answered(let response): return .header(response)
        case .decided(let decision, let grounds):
            step = StagingStep(request: request, caller: caller, grounds: grounds, context: context)
            guard case .upload(let decided) = decision else { return .header(try step.stageAgain()) }
            plan = decided
        }
        let name = request.cloudFileName(from: step.grounds.member.user.device, fileExtension: fileExtension)
        let upload = try Upload.begin(
            name: name, mimeType: request.mimeType, length: length, of: plan.checkSum, in: plan.owner,
            for: step.grounds.member.user, context: context)
        do {
            let content = try upload.run()
            context.restartClock()
            let outcome = try step.stage(content, upload.intent)
            if !outcome.isObjectUsed { upload.intent.giveUp() }
            return .header(outcome.response)
        } catch {
            upload.intent.giveUp()
            throw error
        }
    }
}

extension UploadFileRequest: AdmittedRequest {
    typealias Handler = UploadFileEndpoint
}

extension UploadFileRequest {
    /// Checks the announced properties of the file.
    /// - Returns: the name extension of such files.
    func fileExtension(ofBytes length: Int64?, _ settings: Services.Settings) throws(Refusal) -> String {
        guard let length else { throw Refusal(.lengthRequired) }
        guard length <= settings.maximumUploadBytes else {
            throw .bodyTooLarge(maximumBytes: settings.maximumUploadBytes)
        }
        guard settings.mimeTypes.accepts(mimeType) else { throw Refusal(.unknownMimeType) }
        guard fileGroupUUID == nil || fileVersion == .first else {
            throw Refusal(.parameterOutOfRange, "fileGroupUUID is allowed only with version 0")
        }
        return mimeType.fileExtension
    }

    func cloudFileName(from device: DeviceUUID, fileExtension: String) -> CloudFileName {
        CloudFileName(fileUUID: fileUUID, deviceUUID: device, fileVersion: fileVersion, fileExtension: fileExtension)
    }
}

/// Writes the staged row after checking everything again under the group's lock.
struct StagingStep {
    let request: UploadFileRequest
    let caller: GroupCaller
    let grounds: UploadGrounds
    let context: RequestContext

    private var area: StagingArea { grounds.member.stagingArea }

    /// - Parameters:
    ///   - content: the stored content.
    ///   - intent: removed once the row refers to the object.
    /// - Returns: also whether the row refers to the object; if not, the object is unneeded, unless the upload is
    ///   staged again.
    func stage(_ content: StoredContent, _ intent: UploadIntent) throws -> UploadCompletion {
        let outcome = try run(content, intent)
        return UploadCompletion(response: outcome.response, isObjectUsed: outcome.isObjectUsed)
    }

    /// Stages an already staged upload as a member of another batch, or of none.
    func stageAgain() throws -> UploadFileResponse {
        try run(nil, nil).response
    }

    /// Stages several uploads of one device to one group, which belong to the same batch or to none, in one
    /// transaction.
    /// - Returns: `nil` if one of them is refused, or the batch is committed: then nothing is staged, and each must be
    ///   staged separately.
    static func stage(
        _ uploads: [(step: StagingStep, content: StoredContent, intent: UploadIntent)]
    ) throws -> [Outcome]? {
        guard let first = uploads.first?.step else { return [] }
        let context = first.context
        let members = uploads.compactMap { $0.step.request.batchMember(in: context) }
        guard uploads.allSatisfy({ $0.step.request.masterVersion == first.request.masterVersion }) else { return nil }
        do {
            let outcomes = try context.store.transaction { session -> [Outcome]? in
                let version =
                    try members.isEmpty
                    ? session.lockMasterVersionShared(of: first.area.groupID)
                    : session.lockMasterVersionExclusive(of: first.area.groupID)
                guard try members.first?.commit(in: first.area, &session) == nil else { return nil }
                var outcomes = try uploads.map { upload in
                    try upload.step.write(upload.content, upload.intent, at: version, &session)
                }
                if outcomes.contains(where: \.isObjectUsed) {
                    try context.checkStagedChanges(of: first.area.userID, in: &session)
                }
                guard version == first.request.masterVersion,
                    let committed = try BatchMember.join(members, by: first.grounds.member, in: context, &session)
                else { return outcomes }
                for index in outcomes.indices { outcomes[index].commit(as: committed) }
                return outcomes
            }
            if outcomes?.contains(where: \.isCommit) == true { context.hasCommitted = true }
            return outcomes
        } catch is Refusal {
            return nil
        } catch is CommitRefusal {
            return nil
        }
    }

    struct Outcome {
        var response: UploadFileResponse
        /// Whether the row refers to the object; if not, the object is unneeded.
        var isObjectUsed = false
        var isCommit = false

        /// Records that the upload's batch is committed.
        fileprivate mutating func commit(as version: MasterVersion) {
            guard case .staged(let creationDate, let updateDate) = response else { return }
            response = .committed(creationDate: creationDate, updateDate: updateDate, masterVersion: version)
            isCommit = true
        }
    }

    /// The same as ``stage(_:_:)``; without content for an upload that is already staged.
    func run(_ content: StoredContent?, _ intent: UploadIntent?) throws -> Outcome {
        let member = request.batchMember(in: context)
        let outcome = try context.store.transaction { session in
            if member == nil, let outcome = try stageNew(content, intent, &session) { return outcome }
            // The last member of a batch commits it, so members of batches are serialized.
            let version =
                try member == nil
                ? session.lockMasterVersionShared(of: area.groupID)
                : session.lockMasterVersionExclusive(of: area.groupID)
            if let committed = try member?.commit(in: area, &session) {
                return Outcome(response: try UploadFileResponse(committed))
            }
            var outcome = try write(content, intent, at: version, &session)
            if outcome.isObjectUsed { try checkStagedChanges(&session) }
            if !outcome.response.isStale, let committed = try member?.join(by: grounds.member, &session) {
                outcome.commit(as: committed)
            }
            return outcome
        }
        if outcome.isCommit { context.hasCommitted = true }
        return outcome
    }

    /// Checks everything again, and writes the row.
    /// - Parameter version: the group's master version, which is locked.
    private func write(
        _ content: StoredContent?, _ intent: UploadIntent?, at version: MasterVersion, _ session: inout StoreSession
    ) throws -> Outcome {
        guard version == request.masterVersion else {
            // The concurrent change may have removed the caller from the group.
            _ = try caller.member(of: request.sharingGroupUUID, using: &session)
            return Outcome(response: .stale(current: version))
        }
        switch try place(content, &session) {
        case .repeated(let creationDate, let updateDate):
            return Outcome(response: .staged(creationDate: creationDate, updateDate: updateDate))
        case .upload(let plan):
            guard let content, let intent else { throw Refusal(.uploadConflict) }
            try intent.end(storing: content, using: &session)
            return Outcome(
                response: .staged(creationDate: plan.existingCreationDate ?? context.now, updateDate: context.now),
                isObjectUsed: true)
        }
    }

    private func checkStagedChanges(_ session: inout StoreSession) throws {
        try context.checkStagedChanges(
            of: area.userID, adding: request.appMetaData?.contents.utf8.count ?? 0, in: &session)
    }

    /// Stages an upload in the usual case, with one statement instead of two: the group still has the master version of
    /// the request, and nothing is staged for the file.
    /// - Returns: `nil` in any other case, in which nothing has been written.
    private func stageNew(
        _ content: StoredContent?, _ intent: UploadIntent?, _ session: inout StoreSession
    ) throws -> Outcome? {
        guard let content, let intent,
            case .upload(let plan)? = try? UploadDecision.of(request, on: grounds, staged: nil),
            plan.owner == content.owningUser,
            try session.stageFirst(
                change(content, plan, at: context.now), in: area, from: request.masterVersion, at: context.now)
        else { return nil }
        try intent.end(storing: content, using: &session)
        try checkStagedChanges(&session)
        return Outcome(
            response: .staged(creationDate: plan.existingCreationDate ?? context.now, updateDate: context.now),
            isObjectUsed: true)
    }

    /// Writes the staged row, unless the same upload is already staged.
    private func place(_ content: StoredContent?, _ session: inout StoreSession) throws -> UploadDecision {
        let now = context.now
        if let content, case .upload(let plan) = try UploadDecision.of(request, on: grounds, staged: nil),
            plan.owner == content.owningUser,
            try session.stageFirst(change(content, plan, at: now), in: area, at: now)
        {
            return .upload(plan)
        }
        let staged = try session.claimStaging(of: request.fileUUID, in: area, at: now)
        let decision = try UploadDecision.of(request, on: grounds, staged: staged)
        guard case .upload(let plan) = decision else {
            if request.batch == nil, staged?.batchUUID != nil {
                try session.leaveBatch(with: request.fileUUID, in: area)
            }
            return decision
        }
        guard let content else { throw Refusal(.uploadConflict) }
        guard plan.owner == content.owningUser else { throw Refusal(.ownerRemoved) }
        let replacement = StagedReplacement.of(
            change(content, plan, at: now), over: staged, current: grounds.current)
        try replacement.apply(in: area, at: now, &session)
        return decision
    }

    private func change(
        _ content: StoredContent, _ plan: UploadPlan, at now: WireDate
    ) -> StagedChange {
        var change = StagedChange(fileUUID: request.fileUUID, kind: plan.kind)
        change.fileGroupUUID = request.fileGroupUUID
        change.createdAt = plan.existingCreationDate == nil ? now : nil
        change.updatedAt = now
        change.mimeType = request.mimeType
        change.fileVersion = request.fileVersion
        change.content = content
        change.appMetaData = request.appMetaData?.contents
        change.appMetaDataVersion = request.appMetaData?.version
        return change
    }
}

extension UploadFileRequest {
    /// The request's role in its batch, if any.
    func batchMember(in context: RequestContext) -> BatchMember? {
        guard let batch else { return nil }
        let bare = UploadFileRequest(
            fileUUID: fileUUID, sharingGroupUUID: sharingGroupUUID, mimeType: mimeType, fileVersion: fileVersion,
            masterVersion: MasterVersion(0), checkSum: checkSum, fileGroupUUID: fileGroupUUID,
            appMetaData: appMetaData, undeleteServerFile: undeleteServerFile)
        return BatchMember(
            of: batch, changing: fileUUID, from: masterVersion, asking: bare, context: context)
    }
}

extension UploadFileResponse {
    init(_ committed: (masterVersion: MasterVersion, member: CommittedMember)) throws {
        guard let creationDate = committed.member.createdAt, let updateDate = committed.member.updatedAt else {
            throw StoreError.corrupt(table: "commit_members", column: "updated_at")
        }
        self = .committed(
            creationDate: creationDate, updateDate: updateDate, masterVersion: committed.masterVersion)
    }
}

/// The effect on a device's staged change to a file when the device stages another one for the same file.
///
/// A pure decision. The later request wins; metadata and an upload belong together, so the second of them is merged
/// with the first.
struct StagedReplacement: Equatable {
    /// The change staged from now on.
    var change: StagedChange
    /// Whether the same change is already staged, so that nothing needs to be written.
    var isRepetition = false
    /// The change that was staged before and is replaced; its object must be deleted.
    var givenUp: StagedChange?

    /// Makes the decision for a change that is valid for the group's current state.
    ///
    /// - Parameters:
    ///   - requested: must not be an upload or undelete that is already staged (``UploadDecision/repeated``).
    ///   - staged: what the device has staged for the file.
    ///   - current: the committed file, if the group has it.
    static func of(
        _ requested: StagedChange, over staged: StagedChange?, current: FileRecord?
    ) -> StagedReplacement {
        guard let staged else { return StagedReplacement(change: requested) }
        switch requested.kind {
        case .upload, .undelete:
            var change = requested
            if change.appMetaDataVersion == nil, let version = staged.appMetaDataVersion,
                version.isNext(after: current)
            {
                change.appMetaData = staged.appMetaData
                change.appMetaDataVersion = version
            }
            return StagedReplacement(change: change, givenUp: staged)
        case .metadata:
            // Metadata are merged with an upload that can still be committed; an upload that another device has made
            // obsolete is replaced.
            let isJoining = staged.content != nil && staged.fileVersion == current?.fileVersion.next
            var change = isJoining ? staged : requested
            change.batchUUID = requested.batchUUID
            change.appMetaData = requested.appMetaData
            change.appMetaDataVersion = requested.appMetaDataVersion
            return StagedReplacement(
                change: change, isRepetition: change == staged, givenUp: isJoining ? nil : staged)
        case .deletion:
            return StagedReplacement(
                change: requested, isRepetition: requested == staged, givenUp: staged)
        }
    }

    /// Writes the decision into the row locked by ``StoreSession/claimStaging(of:in:at:)``; the row then belongs to no
    /// batch.
    func apply(in area: StagingArea, at now: WireDate, _ session: inout StoreSession) throws(StoreError) {
        if isRepetition { return }
        // If names are unique, the new upload may have reused the object of the replaced one.
        if let givenUp, givenUp.content?.objectID == nil || givenUp.content?.objectID != change.content?.objectID {
            try session.addDeletion(ofObjectOf: givenUp, in: area, at: now)
        }
        try session.stage(change, in: area, at: now)
    }
}
