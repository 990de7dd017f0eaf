import OpenSSLCrypto
import Providers
import Store
import SyncProtocol

/// Streams the bytes of a version that waits for them into the owner's present storage; the file can be downloaded again at
/// once.
///
/// The bytes are those of the version only if everything that is known of it says so: the stored checksum, which is that of
/// the storage in which the version was, and SHA-256 where it is known. Version and dates stay, and so does the master
/// version. Of several uploads of the same version, even at the same moment, the first wins; the others discard only their
/// own object.
struct ReuploadFileEndpoint: TransferEndpoint {
    func admit(_ request: ReuploadFileRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try announcedLength(in: context)
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
    }

    private func announcedLength(in context: RequestContext) throws(EndpointError) -> Int64 {
        guard let length = context.head.contentLength else { throw .lengthRequired }
        let maximum = context.services.settings.maximumUploadBytes
        guard length <= maximum else { throw .bodyTooLarge(maximumBytes: maximum) }
        return length
    }

    func respond(
        to request: ReuploadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let length = try announcedLength(in: context)
        let plan: ReuploadPlan
        switch try check(request, caller, length, context) {
        case .answered(let response): return .header(response)
        case .upload(let decided): plan = decided
        }
        guard let fileExtension = context.services.settings.mimeTypes.fileExtension(for: request.mimeType) else {
            throw EndpointError.unknownMIMEType
        }
        let name = CloudFileName(
            fileUUID: request.fileUUID, deviceUUID: plan.member.user.device, fileVersion: request.fileVersion,
            fileExtension: fileExtension)
        let upload = try Upload.begin(
            name: name, mimeType: request.mimeType, length: length, of: plan.checkSum, knownBy: plan.identity,
            in: plan.owner, for: plan.member.user, context: context)
        do {
            let content = try upload.run()
            context.restartClock()
            let response = try store(content, from: upload.intent, request, plan, caller, context)
            if response != .stored { upload.intent.giveUp() }
            return .header(response)
        } catch {
            upload.intent.giveUp()
            throw error
        }
    }

    private enum Check {
        case answered(ReuploadFileResponse)
        case upload(ReuploadPlan)
    }

    /// The checks before the first byte is sent.
    private func check(
        _ request: ReuploadFileRequest, _ caller: GroupCaller, _ length: Int64, _ context: RequestContext
    ) throws -> Check {
        try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            guard let file = try session.file(request.fileUUID, in: member.groupID) else {
                throw EndpointError.fileUnknown
            }
            if let answer = try answer(to: request, about: file) { return .answered(answer) }
            guard try session.isMember(file.owningUser.userID, of: member.groupID) else {
                throw EndpointError.ownerRemoved
            }
            let sha256 = try session.sha256(of: request.fileUUID, in: member.groupID)
            return .upload(try ReuploadPlan(request, file, sha256: sha256, length: length, member))
        }
    }

    /// The reply to a request that need not, or cannot, be carried out; `nil` if the file waits for just this version.
    private func answer(
        to request: ReuploadFileRequest, about file: FileRecord
    ) throws(EndpointError) -> ReuploadFileResponse? {
        guard !file.isDeleted else { return .deleted }
        guard request.fileVersion <= file.fileVersion else { throw .fileVersionMismatch }
        guard request.fileVersion == file.fileVersion else { return .versionAdvanced(current: file.fileVersion) }
        guard request.mimeType == file.mimeType else { throw .mimeTypeChanged }
        return file.contentState == .stored ? .alreadyStored : nil
    }

    /// Writes the row, after everything has been checked again under the group's lock.
    private func store(
        _ content: StoredContent, from intent: UploadIntent, _ request: ReuploadFileRequest, _ plan: ReuploadPlan,
        _ caller: GroupCaller, _ context: RequestContext
    ) throws -> ReuploadFileResponse {
        try context.store.transaction { session in
            let version = try session.lockMasterVersionExclusive(of: plan.member.groupID)
            let member = try caller.member(plan.member, lockedAt: version, using: &session)
            guard let file = try session.file(request.fileUUID, in: member.groupID, locked: true) else {
                throw EndpointError.fileUnknown
            }
            if let answer = try answer(to: request, about: file) { return answer }
            guard file.owningUser == content.owningUser,
                try session.isMember(file.owningUser.userID, of: member.groupID)
            else { throw EndpointError.uploadConflict }
            try session.restoreContent(
                content, of: request.fileUUID, from: member.user.device, in: member.groupID)
            try intent.end(storing: content, using: &session)
            return .stored
        }
    }
}

extension ReuploadFileRequest: AdmittedRequest {
    typealias Handler = ReuploadFileEndpoint
}

/// A valid repeated upload.
private struct ReuploadPlan {
    let member: Member
    let owner: OwningUser
    /// The announced checksum in the canonical form of the owner's storage.
    let checkSum: CheckSum
    let identity: ContentIdentity

    /// - Throws: ``EndpointError/contentMismatch`` if what is announced cannot be the version's bytes.
    init(
        _ request: ReuploadFileRequest, _ file: FileRecord, sha256: [UInt8]?, length: Int64, _ member: Member
    ) throws(EndpointError) {
        let flavour = file.owningUser.storageType.checkSumFlavour
        guard let checkSum = request.checkSum.canonical(as: flavour) else { throw .checkSumMismatch }
        if let size = file.sizeBytes, size != length { throw .contentMismatch }
        if let known = file.checkSum, known.flavour == flavour, known != checkSum { throw .contentMismatch }
        let announced = request.contentSHA256?.bytes
        if let sha256, let announced, sha256 != announced { throw .contentMismatch }
        if file.checkSum == nil, sha256 == nil, file.owningUser.userID != member.userID {
            throw .reuploadByOwnerOnly
        }
        self.member = member
        owner = file.owningUser
        self.checkSum = checkSum
        identity = ContentIdentity(checkSum: file.checkSum, sha256: [sha256, announced].compactMap(\.self))
    }
}
