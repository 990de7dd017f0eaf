import Providers
import Store
import SyncProtocol

/// Streams the bytes of a version that waits for them into the owner's current storage; the file can be downloaded
/// again at once.
///
/// With the header `Upload-Length` and no body, it begins an upload in pieces (``AppendToUploadEndpoint``).
struct ReuploadFileEndpoint: TransferEndpoint {
    func admit(_ request: ReuploadFileRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try announcedLength(in: context)
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
    }

    private func announcedLength(in context: RequestContext) throws(Refusal) -> Int64 {
        let length = context.head.beginsPieces ? try context.head.byteCount(.uploadLength) : context.head.contentLength
        guard let length else { throw Refusal(.lengthRequired) }
        let maximum = context.services.settings.maximumUploadBytes
        guard length <= maximum else { throw .bodyTooLarge(maximumBytes: maximum) }
        return length
    }

    func respond(
        to request: ReuploadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let length = try announcedLength(in: context)
        let reupload = Reupload(request: request, caller: caller, context: context)
        let plan: UploadDestinationPlan
        switch try reupload.check(ofBytes: length) {
        case .answered(let response): return .header(response)
        case .decided(let decided): plan = decided
        }
        if context.head.beginsPieces {
            let beginning = try UploadBeginning(context)
            let upload = try beginning.upload(
                asking: UploadPurpose.reupload(request).stored, by: plan.member, ofBytes: length)
            return beginning.reply(ReuploadFileResponse.created(upload.uploadUUID), to: upload)
        }
        let upload = try Upload.begin(
            name: plan.name, mimeType: request.mimeType, length: length, of: plan.checkSum, knownBy: plan.identity,
            in: plan.owner, for: plan.member.user, context: context)
        do {
            let content = try upload.run()
            context.restartClock()
            let response = try reupload.store(content, from: upload.intent, plan)
            if response != .stored { upload.intent.giveUp() }
            return .header(response)
        } catch {
            upload.intent.giveUp()
            throw error
        }
    }
}

extension ReuploadFileRequest: AdmittedRequest {
    typealias Handler = ReuploadFileEndpoint
}

extension RequestHead {
    /// Whether the request announces bytes that other requests will send.
    fileprivate var beginsPieces: Bool { header(.uploadLength) != nil }
}

/// Restores the bytes of a version that waits for them.
///
/// The bytes must match everything known of the version: the stored checksum, in the flavour of the version's former
/// storage, and SHA-256 where it is known. Version, dates and master version do not change. If the same version is
/// uploaded several times, even at the same moment, the first upload wins; the others discard only their own objects.
struct Reupload {
    let request: ReuploadFileRequest
    let caller: GroupCaller
    let context: RequestContext

    /// The checks before the first byte is sent.
    func check(ofBytes length: Int64) throws -> UploadAnswer<UploadDestinationPlan> {
        guard context.services.settings.mimeTypes.accepts(request.mimeType) else { throw Refusal(.unknownMimeType) }
        return try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            guard let file = try session.file(request.fileUUID, in: member.groupID) else {
                throw Refusal(.fileUnknown)
            }
            if let answer = try answer(about: file) { return .answered(answer) }
            guard try session.isMember(file.owningUser.userID, of: member.groupID) else {
                throw Refusal(.ownerRemoved)
            }
            let sha256 = try session.sha256(of: request.fileUUID, in: member.groupID)
            return .decided(
                try UploadDestinationPlan(
                    request, file, sha256: sha256, length: length, member))
        }
    }

    /// The reply to a request that is unnecessary or impossible; `nil` if the file waits for exactly this version.
    private func answer(about file: FileRecord) throws(Refusal) -> ReuploadFileResponse? {
        guard !file.isDeleted else { return .deleted }
        guard request.fileVersion <= file.fileVersion else { throw Refusal(.fileVersionMismatch) }
        guard request.fileVersion == file.fileVersion else { return .versionAdvanced(current: file.fileVersion) }
        guard request.mimeType == file.mimeType else { throw Refusal(.mimeTypeChanged) }
        return file.contentState == .stored ? .alreadyStored : nil
    }

    /// Writes the row after checking everything again under the group's lock.
    /// - Returns: ``ReuploadFileResponse/stored``; otherwise the object is not needed.
    func store(
        _ content: StoredContent, from intent: UploadIntent, _ plan: UploadDestinationPlan
    ) throws -> ReuploadFileResponse {
        try context.store.transaction { session in
            let version = try session.lockMasterVersionExclusive(of: plan.member.groupID)
            let member = try caller.member(plan.member, lockedAt: version, using: &session)
            guard let file = try session.file(request.fileUUID, in: member.groupID, locked: true) else {
                throw Refusal(.fileUnknown)
            }
            if let answer = try answer(about: file) { return answer }
            guard file.owningUser == content.owningUser,
                try session.isMember(file.owningUser.userID, of: member.groupID)
            else { throw Refusal(.uploadConflict) }
            try session.restoreContent(
                content, of: request.fileUUID, from: member.user.device, in: member.groupID)
            try intent.end(storing: content, using: &session)
            return .stored
        }
    }
}

extension UploadDestinationPlan {
    /// The destination of a valid repeated upload.
    /// - Throws: ``ErrorCode/contentMismatch`` if the announced bytes cannot be the version's.
    fileprivate init(
        _ request: ReuploadFileRequest, _ file: FileRecord, sha256: [UInt8]?, length: Int64, _ member: Member
    ) throws(Refusal) {
        let flavour = file.owningUser.storageType.checkSumFlavour
        guard let checkSum = request.checkSum.canonical(as: flavour) else { throw Refusal(.checksumMismatch) }
        if let size = file.sizeBytes, size != length { throw Refusal(.contentMismatch) }
        if let known = file.checkSum, known.flavour == flavour, known != checkSum { throw Refusal(.contentMismatch) }
        let announced = request.contentSHA256?.bytes
        if let sha256, let announced, sha256 != announced { throw Refusal(.contentMismatch) }
        if file.checkSum == nil, sha256 == nil, file.owningUser.userID != member.userID {
            throw Refusal(.reuploadByOwnerOnly)
        }
        let name = CloudFileName(
            fileUUID: request.fileUUID, deviceUUID: member.user.device, fileVersion: request.fileVersion,
            fileExtension: request.mimeType.fileExtension)
        self.init(
            member: member, owner: file.owningUser, name: name, checkSum: checkSum,
            identity: ContentIdentity(checkSum: file.checkSum, sha256: [sha256, announced].compactMap(\.self)))
    }
}
