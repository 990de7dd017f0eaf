import Store
import SyncProtocol

/// Streams a file version from the phone into its owner's storage and stages it for the next commit.
///
/// Everything that can be checked is checked before the first byte is sent, and again when the row is staged, since no
/// lock is held in between. An intent committed beforehand makes sure that an unreferenced object is deleted, wherever
/// this stops. A duplicate request finds its row and gets the same dates; of two concurrent requests, the second to
/// stage discards only its own object. The last upload of a batch commits the batch (``BatchMember``); a repetition
/// after that finds the commit.
struct UploadFileEndpoint: TransferEndpoint {
    func admit(_ request: UploadFileRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try checkAnnouncement(request, in: context)
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
    }

    /// Checks what the request's head announces about the file: its length, and the name's extension.
    private func checkAnnouncement(
        _ request: UploadFileRequest, in context: RequestContext
    ) throws(EndpointError) -> (length: Int64, fileExtension: String) {
        let settings = context.services.settings
        guard let length = context.head.contentLength else { throw .lengthRequired }
        guard length <= settings.maximumUploadBytes else {
            throw .bodyTooLarge(maximumBytes: settings.maximumUploadBytes)
        }
        guard let fileExtension = settings.mimeTypes.fileExtension(for: request.mimeType) else {
            throw .unknownMIMEType
        }
        guard request.fileGroupUUID == nil || request.fileVersion == .first else {
            throw .outOfRange("fileGroupUUID can be given with version 0 only")
        }
        return (length, fileExtension)
    }

    func respond(
        to request: UploadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let (length, fileExtension) = try checkAnnouncement(request, in: context)
        let plan: UploadPlan
        let step: StagingStep
        switch try checkOrWithdraw(request, caller, context) {
        case .stale(let current): return .header(UploadFileResponse.stale(current: current))
        case .answered(let response): return .header(response)
        case .decided(let decision, let grounds):
            step = StagingStep(request: request, caller: caller, grounds: grounds, context: context)
            guard case .upload(let decided) = decision else { return .header(try step.stageAgain()) }
            plan = decided
        }
        let name = CloudFileName(
            fileUUID: request.fileUUID, deviceUUID: step.grounds.member.user.device, fileVersion: request.fileVersion,
            fileExtension: fileExtension)
        let upload = try Upload.begin(
            name: name, mimeType: request.mimeType, length: length, of: plan.checkSum, in: plan.owner,
            for: step.grounds.member.user, context: context)
        do {
            let content = try upload.run()
            context.restartClock()
            return .header(try step.stage(content, upload.intent))
        } catch {
            upload.intent.giveUp()
            throw error
        }
    }

    private enum Check {
        case stale(MasterVersion)
        case answered(UploadFileResponse)
        case decided(UploadDecision, UploadGrounds)
    }

    /// The checks; if the reply says that a new file no longer has an owner, the staged upload of that file is
    /// withdrawn, so that the phone can commit the rest.
    private func checkOrWithdraw(
        _ request: UploadFileRequest, _ caller: GroupCaller, _ context: RequestContext
    ) throws -> Check {
        do {
            return try check(request, caller, context)
        } catch EndpointError.ownerRemoved {
            try context.store.transaction { session in
                let member = try caller.member(of: request.sharingGroupUUID, using: &session)
                _ = try session.lockMasterVersionShared(of: member.groupID)
                try session.withdrawWithoutContent(request.fileUUID, in: member.stagingArea)
            }
            throw EndpointError.ownerRemoved
        }
    }

    /// The checks before the first byte is sent, on one snapshot.
    private func check(
        _ request: UploadFileRequest, _ caller: GroupCaller, _ context: RequestContext
    ) throws -> Check {
        let check: (inout StoreSession) throws -> Check = { try self.check(request, caller, context, &$0) }
        // A new file takes one statement, which is itself a snapshot.
        return request.fileVersion == .first && request.batch == nil
            ? try context.store.withSession(check) : try context.store.snapshot(check)
    }

    private func check(
        _ request: UploadFileRequest, _ caller: GroupCaller, _ context: RequestContext, _ session: inout StoreSession
    ) throws -> Check {
        let (member, situation) = try caller.memberUploading(
            request.fileUUID, to: request.sharingGroupUUID, using: &session)
        if let committed = try request.batchMember(in: context)?.commit(in: member.stagingArea, &session) {
            return .answered(try UploadFileResponse(committed))
        }
        guard member.masterVersion == request.masterVersion else { return .stale(member.masterVersion) }
        var grounds = UploadGrounds(
            member: member, current: situation.current, isLiveElsewhere: situation.isLiveElsewhere)
        if let owner = grounds.current?.owningUser, owner != member.owningUser {
            grounds.isOwnerHere = try session.isMember(owner.userID, of: member.groupID)
        }
        if let deleted = grounds.current, deleted.isDeleted {
            // Its row still has the storage in which it was; it comes back in the one that its owner has now.
            let present = try session.user(deleted.owningUser.userID)?.accountType.cloudStorageType
            if let present { grounds.current?.owningUser.storageType = present } else { grounds.isOwnerHere = false }
        }
        if let owner = grounds.current?.owningUser ?? member.owningUser,
            request.checkSum.canonical(as: owner.storageType.checkSumFlavour) == nil
        {
            grounds.hasOwnerSwitched = try session.user(owner.userID).map { $0.accountEpoch.rawValue > 0 } ?? false
        }
        let staged = situation.staged
        let decision = try UploadDecision.of(request, on: grounds, staged: staged)
        if case .repeated(let creationDate, let updateDate) = decision, request.batch == nil, staged?.batchUUID == nil {
            return .answered(.staged(creationDate: creationDate, updateDate: updateDate))
        }
        return .decided(decision, grounds)
    }
}

extension UploadFileRequest: AdmittedRequest {
    typealias Handler = UploadFileEndpoint
}

/// The data on which an upload is decided, in addition to what the device has staged.
///
/// Read before the first byte is sent. Everything except ``isLiveElsewhere`` changes only together with the group's
/// master version, so it need not be read again if that turns out, under the group's lock, to be unchanged; the commit
/// checks again, with locks, whether a file is live in another group.
private struct UploadGrounds {
    var member: Member
    var current: FileRecord?
    var isLiveElsewhere: Bool
    var isOwnerHere = true
    /// Whether the owner has switched accounts; looked up only if the announced checksum is not of their storage's flavour.
    var hasOwnerSwitched = false
}

extension UploadDecision {
    fileprivate static func of(
        _ request: UploadFileRequest, on grounds: UploadGrounds, staged: StagedChange?
    ) throws(EndpointError) -> UploadDecision {
        try of(
            request, by: grounds.member.membership, current: grounds.current, staged: staged,
            isLiveElsewhere: grounds.isLiveElsewhere, isOwnerHere: grounds.isOwnerHere,
            hasSwitched: grounds.hasOwnerSwitched)
    }
}

/// Writes the staged row, after everything has been checked again under the group's lock.
private struct StagingStep {
    let request: UploadFileRequest
    let caller: GroupCaller
    let grounds: UploadGrounds
    let context: RequestContext

    private var area: StagingArea { grounds.member.stagingArea }

    /// - Parameters:
    ///   - content: the stored content.
    ///   - intent: removed once the row refers to the object.
    func stage(_ content: StoredContent, _ intent: UploadIntent) throws -> UploadFileResponse {
        let outcome = try run(content, intent)
        if !outcome.isObjectUsed { intent.giveUp() }
        return outcome.response
    }

    /// Stages an already staged upload as a member of another batch, or of none.
    func stageAgain() throws -> UploadFileResponse {
        try run(nil, nil).response
    }

    private func run(
        _ content: StoredContent?, _ intent: UploadIntent?
    ) throws -> (response: UploadFileResponse, isObjectUsed: Bool) {
        let member = request.batchMember(in: context)
        let outcome: (response: UploadFileResponse, isObjectUsed: Bool, isCommit: Bool)
        outcome = try context.store.transaction { session in
            // The last member of a batch commits it, so members of batches are serialized.
            let version =
                try member == nil
                ? session.lockMasterVersionShared(of: area.groupID)
                : session.lockMasterVersionExclusive(of: area.groupID)
            if let committed = try member?.commit(in: area, &session) {
                return (try UploadFileResponse(committed), false, false)
            }
            guard version == request.masterVersion else {
                // The change that was faster may have removed the caller from the group.
                _ = try caller.member(of: request.sharingGroupUUID, using: &session)
                return (.stale(current: version), false, false)
            }
            let dates: (creation: WireDate, update: WireDate)
            switch try place(content, &session) {
            case .repeated(let creationDate, let updateDate):
                dates = (creationDate, updateDate)
            case .upload(let plan):
                dates = (plan.existingCreationDate ?? context.now, context.now)
                guard let content, let intent else { throw EndpointError.uploadConflict }
                try intent.end(storing: content, using: &session)
                try context.checkStagedChanges(of: area.userID, in: &session)
                let committed = try member?.join(by: grounds.member, &session)
                return (.staged(dates.creation, dates.update, committedAs: committed), true, committed != nil)
            }
            let committed = try member?.join(by: grounds.member, &session)
            return (.staged(dates.creation, dates.update, committedAs: committed), false, committed != nil)
        }
        context.hasCommitted = outcome.isCommit
        return (outcome.response, outcome.isObjectUsed)
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
        guard let content else { throw EndpointError.uploadConflict }
        guard plan.owner == content.owningUser else { throw EndpointError.ownerRemoved }
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
    fileprivate func batchMember(in context: RequestContext) -> BatchMember? {
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
    fileprivate init(_ committed: (masterVersion: MasterVersion, member: CommittedMember)) throws {
        guard let creationDate = committed.member.createdAt, let updateDate = committed.member.updatedAt else {
            throw StoreError.corrupt(table: "commit_members", column: "updated_at")
        }
        self = .committed(
            creationDate: creationDate, updateDate: updateDate, masterVersion: committed.masterVersion)
    }

    fileprivate static func staged(
        _ creationDate: WireDate, _ updateDate: WireDate, committedAs version: MasterVersion?
    ) -> UploadFileResponse {
        guard let version else { return .staged(creationDate: creationDate, updateDate: updateDate) }
        return .committed(creationDate: creationDate, updateDate: updateDate, masterVersion: version)
    }
}
