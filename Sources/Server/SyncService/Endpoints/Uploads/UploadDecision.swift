import Store
import SyncProtocol

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
    func checkMayComeInPieces() throws(EndpointError) {
        guard checkSum.flavour == owner.storageType.checkSumFlavour else { throw .checkSumMismatch }
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
    /// - Throws: ``EndpointError``.
    static func of(
        _ request: UploadFileRequest, by membership: Membership, current: FileRecord?, staged: StagedChange?,
        isLiveElsewhere: Bool, isOwnerHere: Bool = true, hasSwitched: Bool = false
    ) throws(EndpointError) -> UploadDecision {
        try checkMetaData(request, current)
        let owner: OwningUser?
        if let current {
            if current.isDeleted && !request.undeleteServerFile { throw .fileDeleted }
            guard request.fileVersion == current.fileVersion.next else { throw .fileVersionMismatch }
            guard request.mimeType == current.mimeType else { throw .mimeTypeChanged }
            if current.isDeleted && isLiveElsewhere { throw .fileInOtherGroup }
            owner = isOwnerHere ? current.owningUser : nil
        } else {
            guard !request.undeleteServerFile else { throw .fileNotDeleted }
            guard request.fileVersion == .first else { throw .fileVersionMismatch }
            guard !isLiveElsewhere else { throw .fileInOtherGroup }
            owner = membership.owningUser
        }
        guard let owner else { throw .ownerRemoved }
        let former = hasSwitched ? request.checkSum.flavour.flatMap { request.checkSum.canonical(as: $0) } : nil
        guard let checkSum = request.checkSum.canonical(as: owner.storageType.checkSumFlavour) ?? former else {
            throw .checkSumMismatch
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
    ) throws(EndpointError) {
        guard let metaData = request.appMetaData else { return }
        guard metaData.version.isNext(after: current) else { throw .appMetaDataVersionMismatch }
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
