import Store
import SyncProtocol

/// Checks whether a file may be uploaded, before its bytes come.
struct UploadCheck {
    enum Outcome {
        /// There is nothing to upload.
        case answered(UploadFileResponse)
        case decided(UploadDecision, UploadGrounds)
    }

    let request: UploadFileRequest
    let caller: GroupCaller
    let context: RequestContext

    /// The checks; if the reply says that a new file no longer has an owner, the staged upload of that file is
    /// withdrawn, so that the phone can commit the rest.
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
        // A new file takes one statement, which is itself a snapshot.
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

/// The data on which an upload is decided, in addition to what the device has staged.
///
/// Read before the first byte is sent. Everything except ``isLiveElsewhere`` changes only together with the group's
/// master version, so it need not be read again if that turns out, under the group's lock, to be unchanged; the commit
/// checks again, with locks, whether a file is live in another group.
struct UploadGrounds {
    var member: Member
    var current: FileRecord?
    var isLiveElsewhere: Bool
    var isOwnerHere = true
    /// Whether the owner has switched accounts; looked up only if the announced checksum is not of their storage's flavour.
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
