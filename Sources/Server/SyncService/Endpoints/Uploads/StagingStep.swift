import Providers
import Store
import SyncProtocol
import Vault

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
    func stage(
        _ content: StoredContent, _ intent: UploadIntent
    ) throws -> (response: UploadFileResponse, isObjectUsed: Bool) { try run(content, intent) }

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
                // The concurrent change may have removed the caller from the group.
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

    fileprivate static func staged(
        _ creationDate: WireDate, _ updateDate: WireDate, committedAs version: MasterVersion?
    ) -> UploadFileResponse {
        guard let version else { return .staged(creationDate: creationDate, updateDate: updateDate) }
        return .committed(creationDate: creationDate, updateDate: updateDate, masterVersion: version)
    }
}
