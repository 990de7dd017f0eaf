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

    private func announcedLength(in context: RequestContext) throws(EndpointError) -> Int64 {
        let length = context.head.beginsPieces ? try context.head.byteCount(.uploadLength) : context.head.contentLength
        guard let length else { throw .lengthRequired }
        let maximum = context.services.settings.maximumUploadBytes
        guard length <= maximum else { throw .bodyTooLarge(maximumBytes: maximum) }
        return length
    }

    func respond(
        to request: ReuploadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let length = try announcedLength(in: context)
        let reupload = Reupload(request: request, caller: caller, context: context)
        let plan: ReuploadPlan
        switch try reupload.check(ofBytes: length) {
        case .answered(let response): return .header(response)
        case .upload(let decided): plan = decided
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
