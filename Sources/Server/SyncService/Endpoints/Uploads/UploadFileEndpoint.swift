import Store
import SyncProtocol

/// Streams a file version from the phone into its owner's storage and stages it for the next commit.
///
/// The request is checked as far as possible before the first byte is sent, and again when the row is staged, since no
/// lock is held in between. An intent committed beforehand guarantees that an unreferenced object is deleted, wherever
/// the request stops. A duplicate request finds its row and gets the same dates; of two concurrent requests, the second
/// to stage discards only its own object. The last upload of a batch commits the batch (``BatchMember``); a later
/// repetition finds the commit.
struct UploadFileEndpoint: TransferEndpoint {
    func admit(_ request: UploadFileRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try Self.fileExtension(of: request, in: context)
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
    }

    /// Checks the length and the type of the file that the request's head announces.
    private static func fileExtension(
        of request: UploadFileRequest, in context: RequestContext
    ) throws(EndpointError) -> String {
        try request.fileExtension(ofBytes: context.head.contentLength, context.services.settings)
    }

    func respond(
        to request: UploadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        guard let length = context.head.contentLength else { throw EndpointError.lengthRequired }
        let fileExtension = try Self.fileExtension(of: request, in: context)
        let plan: UploadPlan
        let step: StagingStep
        switch try UploadCheck(request: request, caller: caller, context: context).run() {
        case .answered(let response): return .header(response)
        case .decided(let decision, let grounds):
            step = StagingStep(request: request, caller: caller, grounds: grounds, context: context)
            guard case .upload(let decided) = decision else { return .header(try step.stageAgain()) }
            plan = decided
        }
        let name = request.cloudFileName(from: step.grounds.member.user.device, fileExtension: fileExtension)
        let upload = try Upload.begin(
            name: name, mimeType: request.mimeType, length: length, of: plan.checkSum, in: plan.owner,
            for: step.grounds.member.user, context: context)
        do {
            let content = try upload.run()
            context.restartClock()
            let outcome = try step.stage(content, upload.intent)
            if !outcome.isObjectUsed { upload.intent.giveUp() }
            return .header(outcome.response)
        } catch {
            upload.intent.giveUp()
            throw error
        }
    }
}

extension UploadFileRequest: AdmittedRequest {
    typealias Handler = UploadFileEndpoint
}

extension UploadFileRequest {
    /// Checks the announced properties of the file.
    /// - Returns: the name extension of such files.
    func fileExtension(ofBytes length: Int64?, _ settings: Services.Settings) throws(EndpointError) -> String {
        guard let length else { throw .lengthRequired }
        guard length <= settings.maximumUploadBytes else {
            throw .bodyTooLarge(maximumBytes: settings.maximumUploadBytes)
        }
        guard let fileExtension = settings.mimeTypes.fileExtension(for: mimeType) else { throw .unknownMIMEType }
        guard fileGroupUUID == nil || fileVersion == .first else {
            throw .outOfRange("fileGroupUUID is allowed only with version 0")
        }
        return fileExtension
    }

    func cloudFileName(from device: DeviceUUID, fileExtension: String) -> CloudFileName {
        CloudFileName(fileUUID: fileUUID, deviceUUID: device, fileVersion: fileVersion, fileExtension: fileExtension)
    }
}
