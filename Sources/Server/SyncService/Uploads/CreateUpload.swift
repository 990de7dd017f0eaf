import OpenSSLCrypto
import Store
import SyncProtocol

/// Begins an upload of a new version whose bytes arrive in other requests; the client may request to send them directly
/// to the owner's storage.
struct CreateUploadEndpoint: Endpoint {
    func respond(
        to request: CreateUploadRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let beginning = try UploadBeginning(context)
        let lengthBytes = try context.head.byteCount(.uploadLength)
        _ = try request.upload.fileExtension(ofBytes: lengthBytes, context.services.settings)
        let check = UploadCheck(request: request.upload, caller: caller, context: context)
        let member: Member
        var plan: UploadPlan?
        switch try check.run() {
        case .answered(let response): return .header(CreateUploadResponse.answered(response))
        case .decided(let decision, let grounds):
            member = grounds.member
            if case .upload(let decided) = decision { plan = decided }
            guard plan != nil else {
                let step = StagingStep(request: request.upload, caller: caller, grounds: grounds, context: context)
                return .header(CreateUploadResponse.answered(try step.stageAgain()))
            }
        }
        try plan?.checkMayComeInPieces()
        // The master version may advance.
        let upload = try beginning.upload(
            asking: UploadPurpose.staging(request.upload, storageHash: request.storageHash).stored,
            identity: UploadPurpose.staging(request.upload.from(MasterVersion(0))).stored, by: member,
            ofBytes: lengthBytes)
        if beginning.dialect == .tus, lengthBytes == 0, upload.reply == nil {
            // These clients send no further request for an empty file.
            let piece = Piece(dialect: .tus, offset: 0, lengthBytes: 0)
            let goal = StagingGoal(request: request.upload, caller: caller, context: context)
            _ = try UploadAssembly(goal: goal, caller: caller, piece: piece, context: context).run(upload)
        }
        var direct: DirectUpload?
        if request.isDirect, context.services.settings.allowsDirectTransfers, let plan {
            direct = try DirectUploadStart(request: request, plan: plan, member: member, context: context)
                .run(upload)
        }
        return beginning.reply(CreateUploadResponse.created(upload.uploadUUID, direct: direct), to: upload)
    }
}

extension CreateUploadRequest: ServedRequest {
    typealias Handler = CreateUploadEndpoint
}

extension UploadFileRequest {
    /// The same upload at another master version.
    func from(_ masterVersion: MasterVersion) -> UploadFileRequest {
        UploadFileRequest(
            fileUUID: fileUUID, sharingGroupUUID: sharingGroupUUID, mimeType: mimeType, fileVersion: fileVersion,
            masterVersion: masterVersion, checkSum: checkSum, fileGroupUUID: fileGroupUUID, appMetaData: appMetaData,
            undeleteServerFile: undeleteServerFile, batch: batch)
    }
}

/// Begins an upload whose bytes arrive in other requests.
///
/// Only its row is written; the cloud is first used when bytes arrive. A repeated request finds the row of the first
/// one, so a lost reply does not cause bytes to be sent twice.
struct UploadBeginning {
    let dialect: UploadDialect
    private let context: RequestContext

    /// - Throws: ``Refusal`` if the request uses neither protocol, or has a body.
    init(_ context: RequestContext) throws(Refusal) {
        self.context = context
        dialect = UploadDialect(context.head)
        try dialect.check(context.head)
        guard context.head.contentLength ?? 0 == 0 else { throw .bodyTooLarge(maximumBytes: 0) }
    }

    /// Finds or writes the row.
    /// - Parameters:
    ///   - request: the upload, as stored in the row.
    ///   - identity: the part of `request` that identifies the upload; `nil` for all of it.
    func upload(
        asking request: String, identity: String? = nil, by member: Member, ofBytes lengthBytes: Int64
    ) throws -> ResumableUpload {
        guard let uploadUUID = UploadUUID(try context.services.makeUUID()) else { throw StoreError.notFound }
        let now = context.now
        return try context.store.transaction { session in
            let upload = try session.beginUpload(
                uploadUUID, asking: request,
                hash: IncrementalDigest.digest(of: Array("\(lengthBytes)?\(identity ?? request)".utf8), .sha256),
                lengthBytes: lengthBytes, by: member.userID, on: member.user.device,
                until: WireDate(secondsSince1970: now.secondsSince1970 + RequestContext.uploadLifetimeSeconds), at: now)
            try context.checkResumableUploads(of: member.userID, in: &session)
            return upload
        }
    }

    /// The reply, with the upload's address.
    func reply(_ message: some ResponseMessage, to upload: ResumableUpload) -> EndpointReply {
        context.replyHeaders =
            dialect.headers(
                storedBytes: upload.progress.storedBytes, of: upload.lengthBytes, isComplete: upload.reply != nil) + [
                (ResponseHeader.location.rawValue, address(of: upload.uploadUUID)),
                (
                    ResponseHeader.uploadExpires.rawValue,
                    HTTPDate(secondsSince1970: upload.expiresAt.secondsSince1970).text
                ),
                (ResponseHeader.uploadLimit.rawValue, "max-size=\(context.services.settings.maximumUploadBytes)"),
            ]
        return .header(message, status: 201)
    }

    /// The upload's address: below the server's public address, if configured; otherwise next to the address that the
    /// client used, as seen by nginx.
    private func address(of uploadUUID: UploadUUID) -> String {
        let query = AppendToUploadRequest(uploadUUID).encodedQuery
        if let publicURL = context.services.settings.publicURL { return "\(publicURL)/Upload?\(query)" }
        var folder = (context.head.address ?? context.head.path)[...]
        if folder.last == "/" { folder.removeLast() }
        folder = folder[...(folder.lastIndex(of: "/") ?? folder.startIndex)]
        return "\(folder)Upload?\(query)"
    }
}
