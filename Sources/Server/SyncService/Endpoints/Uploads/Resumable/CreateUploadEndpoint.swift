import HTTPTransport
import OpenSSLCrypto
import Store
import SyncProtocol

/// Begins an upload whose bytes come in other requests.
///
/// Only its row is written: the cloud is asked when bytes come, unless the client wants to send them there itself. A repeated
/// request finds the row of the first one, so that nothing is sent twice because a reply was lost.
struct CreateUploadEndpoint: Endpoint {
    func respond(
        to request: CreateUploadRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let dialect = UploadDialect(context.head)
        try dialect.check(context.head)
        let lengthBytes = try context.head.byteCount(.uploadLength)
        guard context.head.contentLength ?? 0 == 0 else {
            throw EndpointError.bodyTooLarge(maximumBytes: 0)
        }
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
        let upload = try begin(request, lengthBytes: lengthBytes, by: member, in: context)
        if dialect == .tus, lengthBytes == 0, upload.reply == nil {
            // Its clients send nothing more of an empty file.
            let piece = Piece(dialect: dialect, offset: 0, lengthBytes: 0)
            let assembly = try UploadAssembly(request: request.upload, caller: caller, piece: piece, context: context)
            _ = try assembly.run(upload)
        }
        var direct: DirectUpload?
        if request.isDirect, context.services.settings.allowsDirectTransfers, let plan {
            direct = try DirectUploadStart(request: request.upload, plan: plan, member: member, context: context)
                .run(upload)
        }
        context.replyHeaders =
            dialect.headers(storedBytes: upload.progress.storedBytes, of: lengthBytes, isComplete: upload.reply != nil)
            + [
                (ResponseHeader.location.rawValue, Self.address(of: upload.uploadUUID, context.head)),
                (
                    ResponseHeader.uploadExpires.rawValue,
                    HTTPDate(secondsSince1970: upload.expiresAt.secondsSince1970).text
                ),
                (ResponseHeader.uploadLimit.rawValue, "max-size=\(context.services.settings.maximumUploadBytes)"),
            ]
        return .header(CreateUploadResponse.created(upload.uploadUUID, direct: direct), status: 201)
    }

    /// The upload's address, beside the one that the client has used.
    private static func address(of uploadUUID: UploadUUID, _ head: RequestHead) -> String {
        var folder = (head.address ?? head.path)[...]
        if folder.last == "/" { folder.removeLast() }
        folder = folder.dropLast(EndpointName.createUpload.rawValue.count)
        return "\(folder)Upload?\(AppendToUploadRequest(uploadUUID).encodedQuery)"
    }

    private func begin(
        _ request: CreateUploadRequest, lengthBytes: Int64, by member: Member, in context: RequestContext
    ) throws -> ResumableUpload {
        guard let uploadUUID = UploadUUID(try context.services.makeUUID()) else { throw StoreError.notFound }
        let now = context.now
        return try context.store.transaction { session in
            let upload = try session.beginUpload(
                uploadUUID, asking: CreateUploadRequest(request.upload).encodedQuery(.unreserved),
                hash: request.identity(lengthBytes: lengthBytes),
                lengthBytes: lengthBytes, by: member.userID, on: member.user.device,
                until: WireDate(secondsSince1970: now.secondsSince1970 + RequestContext.uploadLifetimeSeconds), at: now)
            try context.checkResumableUploads(of: member.userID, in: &session)
            return upload
        }
    }
}

extension CreateUploadRequest: ServedRequest {
    typealias Handler = CreateUploadEndpoint

    /// SHA-256 of what makes it the same upload: everything but the master version, which may have moved on.
    fileprivate func identity(lengthBytes: Int64) -> [UInt8] {
        let bare = CreateUploadRequest(upload.from(MasterVersion(0)))
        return IncrementalDigest.digest(of: Array("\(lengthBytes)?\(bare.encodedQuery)".utf8), .sha256)
    }
}

extension UploadFileRequest {
    /// The same upload, from another master version.
    func from(_ masterVersion: MasterVersion) -> UploadFileRequest {
        UploadFileRequest(
            fileUUID: fileUUID, sharingGroupUUID: sharingGroupUUID, mimeType: mimeType, fileVersion: fileVersion,
            masterVersion: masterVersion, checkSum: checkSum, fileGroupUUID: fileGroupUUID, appMetaData: appMetaData,
            undeleteServerFile: undeleteServerFile, batch: batch)
    }
}
