import Store
import SyncProtocol

/// Checks whether a file may be uploaded, before its bytes arrive.
struct UploadCheck {
    enum Outcome {
        /// There is nothing to upload.
        case answered(UploadFileResponse)
        case decided(UploadDecision, UploadGrounds)
    }

    let request: UploadFileRequest
    let caller: GroupCaller
    let context: RequestContext

    /// Performs the checks. If a new file no longer has an owner, withdraws the staged upload of that file, so that the
    /// phone can commit the rest.
    func run() throws -> Outcome {
        do {
            return try check()
        } catch Refusal(.ownerRemoved) {
            try withdraw()
            throw Refusal(.ownerRemoved)
        }
    }

    /// The same for several files, on one snapshot; each has its own outcome.
    static func run(_ checks: [UploadCheck], in store: MetadataStore) throws -> [Result<Outcome, Refusal>] {
        let outcomes = try store.snapshot { session in
            try checks.map { check -> Result<Outcome, Refusal> in
                do { return .success(try check.check(&session)) } catch let refusal as Refusal {
                    return .failure(refusal)
                }
            }
        }
        for case (let check, .failure(Refusal(.ownerRemoved))) in zip(checks, outcomes) { try check.withdraw() }
        return outcomes
    }

    private func withdraw() throws {
        try context.store.transaction { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            _ = try session.lockMasterVersionShared(of: member.groupID)
            try session.withdrawWithoutContent(request.fileUUID, in: member.stagingArea)
        }
    }

    /// The checks before the first byte is sent, on one snapshot.
    private func check() throws -> Outcome {
        // A new file needs only one statement, which is itself a snapshot.
        return request.fileVersion == .first && request.batch == nil
            ? try context.store.withSession { try check(&$0) } : try context.store.snapshot { try check(&$0) }
    }

    private func check(_ session: inout StoreSession) throws -> Outcome {
        let (member, situation) = try caller.memberUploading(
            request.fileUUID, to: request.sharingGroupUUID, using: &session)
        if let committed = try request.batchMember(in: context)?.commit(in: member.stagingArea, &session) {
            return .answered(try UploadFileResponse(committed))
        }
        guard member.masterVersion == request.masterVersion else {
            return .answered(.stale(current: member.masterVersion))
        }
        var grounds = UploadGrounds(
            member: member, current: situation.current, isLiveElsewhere: situation.isLiveElsewhere)
        if let owner = grounds.current?.owningUser, owner != member.owningUser {
            grounds.isOwnerHere = try session.isMember(owner.userID, of: member.groupID)
        }
        if let deleted = grounds.current, deleted.isDeleted {
            // The row still names the file's former storage; an undelete uses the owner's current one.
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

/// The data for the decision about an upload, in addition to the device's staged changes.
///
/// Read before the first byte is sent. Everything except ``isLiveElsewhere`` changes only together with the group's
/// master version, so it need not be read again if that version is unchanged under the group's lock; the commit checks
/// again, with locks, whether a file is live in another group.
struct UploadGrounds {
    var member: Member
    var current: FileRecord?
    var isLiveElsewhere: Bool
    var isOwnerHere = true
    /// Whether the owner has switched accounts; looked up only if the announced checksum does not have their storage's
    /// flavour.
    var hasOwnerSwitched = false
}

extension UploadDecision {
    static func of(
        _ request: UploadFileRequest, on grounds: UploadGrounds, staged: StagedChange?
    ) throws(Refusal) -> UploadDecision {
        try of(
            request, by: grounds.member.membership, current: grounds.current, staged: staged,
            isLiveElsewhere: grounds.isLiveElsewhere, isOwnerHere: grounds.isOwnerHere,
            hasSwitched: grounds.hasOwnerSwitched)
    }
}

/// The meaning of an UploadFile request, given the state of the group and the device.
///
/// A pure decision, made before the first byte is sent, and again when the change is staged.
enum UploadDecision: Equatable {
    /// The same upload is already staged.
    case repeated(creationDate: WireDate, updateDate: WireDate)
    case upload(UploadPlan)
}

/// A valid upload.
struct UploadPlan: Equatable {
    var kind: StagedChange.Kind
    /// The owner of the storage that receives the bytes.
    var owner: OwningUser
    /// The announced checksum in canonical form, in the flavour of that storage or of the owner's former one.
    var checkSum: CheckSum
    /// When the file was created; `nil` for a new file.
    var existingCreationDate: WireDate?

    /// Checks that several requests may send the bytes: that requires a checksum in the current storage's flavour,
    /// since only that storage's hashes continue from request to request, or are reported by it.
    func checkMayComeInPieces() throws(Refusal) {
        guard checkSum.flavour == owner.storageType.checkSumFlavour else { throw Refusal(.checksumMismatch) }
    }
}

extension UploadDecision {
    /// Applies the rules for versions, types and owners.
    ///
    /// - Parameters:
    ///   - current: the committed file, if the group has it.
    ///   - staged: what this device has staged for the file.
    ///   - isLiveElsewhere: whether another group has a live file with this UUID.
    ///   - hasSwitched: whether the owner had another storage before: a client may still know the file by its flavour.
    ///   - isOwnerHere: whether the committed file's owner is still a member; no other storage may be used.
    /// - Throws: ``Refusal``.
    static func of(
        _ request: UploadFileRequest, by membership: Membership, current: FileRecord?, staged: StagedChange?,
        isLiveElsewhere: Bool, isOwnerHere: Bool = true, hasSwitched: Bool = false
    ) throws(Refusal) -> UploadDecision {
        try checkMetaData(request, current)
        let owner: OwningUser?
        if let current {
            if current.isDeleted && !request.undeleteServerFile { throw Refusal(.fileDeleted) }
            guard request.fileVersion == current.fileVersion.next else { throw Refusal(.fileVersionMismatch) }
            guard request.mimeType == current.mimeType else { throw Refusal(.mimeTypeChanged) }
            if current.isDeleted && isLiveElsewhere { throw Refusal(.fileInOtherGroup) }
            owner = isOwnerHere ? current.owningUser : nil
        } else {
            guard !request.undeleteServerFile else { throw Refusal(.fileNotDeleted) }
            guard request.fileVersion == .first else { throw Refusal(.fileVersionMismatch) }
            guard !isLiveElsewhere else { throw Refusal(.fileInOtherGroup) }
            owner = membership.owningUser
        }
        guard let owner else { throw Refusal(.ownerRemoved) }
        let former = hasSwitched ? request.checkSum.flavour.flatMap { request.checkSum.canonical(as: $0) } : nil
        guard let checkSum = request.checkSum.canonical(as: owner.storageType.checkSumFlavour) ?? former else {
            throw Refusal(.checksumMismatch)
        }
        let plan = UploadPlan(
            kind: current?.isDeleted == true ? .undelete : .upload, owner: owner, checkSum: checkSum,
            existingCreationDate: current?.createdAt)
        if let staged, let dates = dates(of: staged, ifSameAs: request, plan, current) { return dates }
        return .upload(plan)
    }

    /// The first metadata have version 0; each change increments it by one.
    private static func checkMetaData(
        _ request: UploadFileRequest, _ current: FileRecord?
    ) throws(Refusal) {
        guard let metaData = request.appMetaData else { return }
        guard metaData.version.isNext(after: current) else { throw Refusal(.appMetaDataVersionMismatch) }
    }

    /// The dates of the staged upload, if it is the requested one and a commit would still accept it.
    ///
    /// An upload that another device has made obsolete is not a repetition: it would block every commit.
    private static func dates(
        of staged: StagedChange, ifSameAs request: UploadFileRequest, _ plan: UploadPlan, _ current: FileRecord?
    ) -> UploadDecision? {
        guard staged.kind == plan.kind, staged.fileVersion == request.fileVersion, staged.mimeType == request.mimeType,
            staged.fileGroupUUID == request.fileGroupUUID, staged.content?.checkSum == plan.checkSum,
            staged.content?.owningUser == plan.owner, let updated = staged.updatedAt,
            let created = staged.createdAt ?? current?.createdAt
        else { return nil }
        if let version = staged.appMetaDataVersion, !version.isNext(after: current) { return nil }
        if let metaData = request.appMetaData {
            guard metaData.version == staged.appMetaDataVersion, metaData.contents == staged.appMetaData else {
                return nil
            }
        }
        return .repeated(creationDate: created, updateDate: updated)
    }
}
