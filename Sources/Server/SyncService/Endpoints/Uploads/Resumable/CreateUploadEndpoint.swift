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
