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
    ) throws(EndpointError) -> UploadDecision {
        try of(
            request, by: grounds.member.membership, current: grounds.current, staged: staged,
            isLiveElsewhere: grounds.isLiveElsewhere, isOwnerHere: grounds.isOwnerHere,
            hasSwitched: grounds.hasOwnerSwitched)
    }
}
