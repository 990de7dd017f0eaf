import CloudStorage
import HTTPTransport
import Store
import SyncProtocol
import UserStorage

/// Streams a file version from the phone into its owner's storage and stages it for the next commit.
///
/// Everything that can be checked is checked before the first byte goes out, and again when the row is staged, since no
/// lock is held in between. An intent committed beforehand makes sure that an object nobody refers to is deleted,
/// wherever this stops. A request that arrives twice finds its row and gets the same dates; of two that run at the
/// same moment, the second to stage gives up its own object only. The last upload of a batch commits the batch
/// (``BatchMember``); a repetition that comes after that finds the commit.
struct UploadFileEndpoint: Endpoint {
    func respond(to request: UploadFileRequest, in context: RequestContext) throws -> EndpointReply {
        let settings = context.services.settings
        guard let length = context.head.contentLength else { throw EndpointError.lengthRequired }
        guard length <= settings.maximumUploadBytes else {
            throw EndpointError.bodyTooLarge(maximumBytes: settings.maximumUploadBytes)
        }
        guard let fileExtension = settings.mimeTypes.fileExtension(for: request.mimeType) else {
            throw EndpointError.unknownMIMEType
        }
        guard request.fileGroupUUID == nil || request.fileVersion == .first else {
            throw EndpointError.outOfRange("fileGroupUUID can be given with version 0 only")
        }
        let plan: UploadPlan
        switch try checkOrWithdraw(request, in: context) {
        case .stale(let current): return .header(UploadFileResponse.stale(current: current))
        case .answered(let response): return .header(response)
        case .decided(.repeated): return .header(try StagingStep(request: request, context: context).stageAgain())
        case .decided(.upload(let decided)): plan = decided
        }
        let name = CloudFileName(
            fileUUID: request.fileUUID, deviceUUID: context.device, fileVersion: request.fileVersion,
            fileExtension: fileExtension)
        let upload = try Upload(name: name, mimeType: request.mimeType, length: length, plan: plan, context: context)
        do {
            let content = try upload.run()
            let response = try StagingStep(request: request, context: context).stage(content, upload.intent)
            return .header(response)
        } catch {
            upload.intent.giveUp()
            throw error
        }
    }

    private enum Check {
        case stale(MasterVersion)
        case answered(UploadFileResponse)
        case decided(UploadDecision)
    }

    /// The checks; a phone that is told that its new file has no owner any more has nothing of that file staged afterwards,
    /// so that it can commit the rest.
    private func checkOrWithdraw(_ request: UploadFileRequest, in context: RequestContext) throws -> Check {
        do {
            return try check(request, in: context)
        } catch EndpointError.ownerRemoved {
            try context.store.transaction { session in
                let membership = try context.membership(in: request.sharingGroupUUID, needing: .write, using: &session)
                _ = try session.holdMasterVersion(of: membership.groupID)
                try session.withdrawWithoutContent(
                    request.fileUUID,
                    in: StagingArea(
                        userID: context.caller.userID, deviceUUID: context.device, groupID: membership.groupID))
            }
            throw EndpointError.ownerRemoved
        }
    }

    /// The checks before the first byte, on one snapshot.
    private func check(_ request: UploadFileRequest, in context: RequestContext) throws -> Check {
        try context.store.snapshot { session in
            let membership = try context.membership(
                in: request.sharingGroupUUID, needing: .write, using: &session)
            let area = StagingArea(
                userID: context.caller.userID, deviceUUID: context.device, groupID: membership.groupID)
            if let committed = try request.batchMember(in: context)?.commit(in: area, &session) {
                return .answered(try UploadFileResponse(committed))
            }
            guard membership.masterVersion == request.masterVersion else { return .stale(membership.masterVersion) }
            let staged = try session.stagedChange(of: request.fileUUID, in: area)
            let decision = try decide(
                request, by: membership, staged: staged, current: try session.file(request.fileUUID, in: area.groupID),
                &session)
            if case .repeated(let creationDate, let updateDate) = decision, request.batch == nil,
                staged?.batchUUID == nil
            {
                return .answered(.staged(creationDate: creationDate, updateDate: updateDate))
            }
            return .decided(decision)
        }
    }
}

/// Collects what a decision about an upload needs besides the committed file and the staged change.
private func decide(
    _ request: UploadFileRequest, by membership: Membership, staged: StagedChange?, current: FileRecord?,
    _ session: inout StoreSession
) throws -> UploadDecision {
    var isOwnerHere = true
    if let owner = current?.owningUser, owner != membership.owningUser {
        isOwnerHere = try session.isMember(owner.userID, of: membership.groupID)
    }
    return try UploadDecision.of(
        request, by: membership, current: current, staged: staged,
        isLiveElsewhere: try session.isLiveElsewhere(request.fileUUID, otherThan: membership.groupID),
        isOwnerHere: isOwnerHere)
}

/// The bytes' way from the phone to the cloud.
private struct Upload {
    let name: CloudFileName
    let mimeType: MIMEType
    let plan: UploadPlan
    let storage: UserStorage
    let intent: UploadIntent
    let content: PhoneUpload

    init(
        name: CloudFileName, mimeType: MIMEType, length: Int64, plan: UploadPlan, context: RequestContext
    ) throws {
        self.name = name
        self.mimeType = mimeType
        self.plan = plan
        storage = try context.storage(of: plan.owner)
        let reservation = try storage.provider.reserve(name: name.rawValue, in: storage.access)
        let intent = try UploadIntent(toStore: reservation, in: plan.owner, context: context)
        self.intent = intent
        content = PhoneUpload(
            context.body, lengthBytes: length, expected: plan.checkSum, storageType: plan.owner.storageType,
            budget: context.services.partBudget, background: context.services.background,
            keepAlive: { try intent.keepAlive() },
            beforeLastPart: { try intent.confirm() })
    }

    func run() throws -> StoredContent {
        defer { content.stopReading() }
        // Parts have deadlines of their own, from the moment each has arrived; slow phones are nginx's business.
        let stored: StoredObject
        do {
            stored = try storage.provider.upload(
                content, as: intent.reservation, mimeType: mimeType.rawValue, to: storage.access)
        } catch .contentFailed(let cause) {
            // What the phone sent, or that it is gone, is no failure of the cloud.
            throw cause
        }
        guard let hashes = content.hashes else { throw CloudStorageError.contentMismatch }
        return StoredContent(
            owningUser: plan.owner, checkSum: hashes.checkSum, sha256: hashes.sha256,
            sizeBytes: content.lengthBytes, objectID: stored.objectID, objectRevision: stored.revision,
            providerHash: stored.providerHash == hashes.checkSum.rawValue ? nil : stored.providerHash)
    }
}

/// Writes the staged row, after everything has been checked once more under the group's lock.
private struct StagingStep {
    /// After so many seconds a provider that had no hash yet is asked for it.
    private static let hashDelaySeconds: Int64 = 30

    let request: UploadFileRequest
    let context: RequestContext

    /// - Parameters:
    ///   - content: what has been stored.
    ///   - intent: goes once the row refers to the object.
    func stage(_ content: StoredContent, _ intent: UploadIntent) throws -> UploadFileResponse {
        let outcome = try run(content, intent)
        if !outcome.isObjectUsed { intent.giveUp() }
        return outcome.response
    }

    /// Stages what is staged already as a member of another batch, or of none.
    func stageAgain() throws -> UploadFileResponse {
        try run(nil, nil).response
    }

    private func run(
        _ content: StoredContent?, _ intent: UploadIntent?
    ) throws -> (response: UploadFileResponse, isObjectUsed: Bool) {
        let member = request.batchMember(in: context)
        return try context.store.transaction { session in
            let now = context.now
            let membership = try context.membership(
                in: request.sharingGroupUUID, needing: .write, using: &session)
            let area = StagingArea(
                userID: context.caller.userID, deviceUUID: context.device, groupID: membership.groupID)
            // The last of a batch commits, so members of batches come one after the other.
            let version =
                try member == nil
                ? session.holdMasterVersion(of: area.groupID) : session.lockMasterVersion(of: area.groupID)
            if let committed = try member?.commit(in: area, &session) {
                return (try UploadFileResponse(committed), false)
            }
            guard version == request.masterVersion else {
                // The change that was faster may have taken the caller out of the group.
                _ = try context.membership(in: request.sharingGroupUUID, needing: .write, using: &session)
                return (.stale(current: version), false)
            }
            let current = try session.file(request.fileUUID, in: area.groupID)
            let staged = try session.claimStaging(of: request.fileUUID, in: area, at: now)
            let decision = try decide(request, by: membership, staged: staged, current: current, &session)
            guard case .upload(let plan) = decision else {
                guard case .repeated(let creationDate, let updateDate) = decision else {
                    throw EndpointError.uploadConflict
                }
                if member == nil, staged?.batchUUID != nil {
                    try session.leaveBatch(with: request.fileUUID, in: area)
                }
                let committed = try member?.join(in: area, by: membership, &session)
                return (.staged(creationDate, updateDate, committedAs: committed), false)
            }
            guard let content, let intent else { throw EndpointError.uploadConflict }
            guard plan.owner == content.owningUser else { throw EndpointError.ownerRemoved }
            let replacement = StagedReplacement.of(
                change(content, plan, current, at: now), over: staged, current: current)
            try replacement.apply(in: area, at: now, &session)
            if let objectID = content.objectID, try intent.isDoomed(objectID, using: &session) {
                throw EndpointError.uploadConflict
            }
            guard try session.complete(intent.item, by: intent.leaseOwner) else { throw EndpointError.uploadConflict }
            if content.providerHash == nil, !content.owningUser.storageType.reportsCheckSum, let id = content.objectID {
                try session.addHashing(
                    of: id, in: content.owningUser,
                    availableAt: WireDate(secondsSince1970: now.secondsSince1970 + Self.hashDelaySeconds), at: now)
            }
            let committed = try member?.join(in: area, by: membership, &session)
            return (.staged(plan.existingCreationDate ?? now, now, committedAs: committed), true)
        }
    }

    private func change(
        _ content: StoredContent, _ plan: UploadPlan, _ current: FileRecord?, at now: WireDate
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
    /// What the request is to the batch that it belongs to, if any.
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
