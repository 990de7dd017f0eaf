import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Sends a piece of an upload on into the owner's storage; the last piece stages the file.
///
/// The provider's own upload session keeps the bytes, so that the next piece may come to any process of any host. Only one
/// request sends bytes of an upload: whoever comes later takes it over, and the former one can record nothing any more. An
/// upload that is staged keeps its reply, so that a repeated request gets it.
struct AppendToUploadEndpoint: TransferEndpoint {
    func admit(_ request: AppendToUploadRequest, from caller: GroupCaller, in context: RequestContext) throws {
        // Nothing is waited for here: this role has few threads.
        let upload = try context.presentUpload(request.uploadUUID, of: caller.userID, on: caller.device)
        let piece = try Piece(of: upload, context.head, isDirect: request.isDirect)
        let purpose = try UploadPurpose(stored: upload.request)
        _ = try caller.member(of: purpose.sharingGroupUUID, in: context.store)
        guard upload.reply == nil else { return }
        let goal = purpose.goal(from: request.masterVersion, by: caller, in: context)
        try context.requirePresentOwner(of: upload, for: goal, by: caller)
        guard upload.writer.map(\.isAnnounced) ?? true else { return }
        if !piece.confirmsDirectUpload(upload) { try piece.check(against: upload) }
        // Whoever asks for the offset from now on waits for this piece.
        let writer = ResumableUpload.Writer(try context.writer, isAnnounced: true)
        try context.store.transaction { try $0.announce(writer, of: upload.uploadUUID) }
    }

    func respond(
        to request: AppendToUploadRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let upload = try context.resumableUpload(request.uploadUUID, of: caller.userID, on: caller.device)
        let piece = try Piece(of: upload, context.head, isDirect: request.isDirect)
        if let reply = upload.reply { return piece.reply(reply, of: upload, in: context) }
        let goal = try UploadPurpose(stored: upload.request).goal(from: request.masterVersion, by: caller, in: context)
        return try UploadAssembly(goal: goal, caller: caller, piece: piece, context: context).run(upload)
    }
}

extension AppendToUploadRequest: AdmittedRequest {
    typealias Handler = AppendToUploadEndpoint
}

/// What a request says about its piece of an upload.
struct Piece {
    let dialect: UploadDialect
    let offset: Int64
    let lengthBytes: Int64
    let digest: PieceDigest?
    /// Whether the client says that it has sent all bytes to the owner's storage itself.
    private let isDirect: Bool

    init(dialect: UploadDialect, offset: Int64, lengthBytes: Int64) {
        isDirect = false
        self.dialect = dialect
        self.offset = offset
        self.lengthBytes = lengthBytes
        digest = nil
    }

    init(of upload: ResumableUpload, _ head: RequestHead, isDirect: Bool = false) throws(EndpointError) {
        self.isDirect = isDirect
        dialect = UploadDialect(head)
        try dialect.check(head)
        try dialect.checkMediaType(head)
        offset = try head.byteCount(.uploadOffset)
        guard let length = head.contentLength else { throw .lengthRequired }
        lengthBytes = length
        digest = try PieceDigest(head)
        guard offset == upload.progress.storedBytes || upload.reply != nil else { return }
        try checkEnd(against: upload)
        if try dialect.saysComplete(head) == true, end != upload.lengthBytes { throw .bodyLengthMismatch }
    }

    /// The position behind the last byte.
    var end: Int64 { offset + lengthBytes }

    func check(against upload: ResumableUpload) throws(EndpointError) {
        guard offset == upload.progress.storedBytes else {
            throw .uploadOffsetMismatch(current: upload.progress.storedBytes)
        }
        // The upload may not have been there yet when the piece was read.
        try checkEnd(against: upload)
    }

    private func checkEnd(against upload: ResumableUpload) throws(EndpointError) {
        guard lengthBytes <= upload.lengthBytes, offset <= upload.lengthBytes - lengthBytes else {
            throw .bodyTooLarge(maximumBytes: max(0, upload.lengthBytes - offset))
        }
    }

    /// Whether there is nothing to send, since the client has sent everything by the address that it got.
    func confirmsDirectUpload(_ upload: ResumableUpload) -> Bool {
        isDirect && upload.directUntil != nil && lengthBytes == 0 && offset == upload.lengthBytes
    }

    /// The reply once everything has come.
    /// - Parameter text: the answer that UploadFile would have given.
    func reply(_ text: String, of upload: ResumableUpload, in context: RequestContext) -> EndpointReply {
        context.replyHeaders = dialect.headers(
            storedBytes: upload.lengthBytes, of: upload.lengthBytes, isComplete: true)
        return .header(text, status: dialect == .tus ? 204 : 200)
    }

    /// The reply while more must come.
    func reply(storedBytes: Int64, of upload: ResumableUpload, in context: RequestContext) -> EndpointReply {
        context.replyHeaders =
            dialect.headers(storedBytes: storedBytes, of: upload.lengthBytes, isComplete: false) + [
                (
                    ResponseHeader.uploadExpires.rawValue,
                    HTTPDate(secondsSince1970: upload.expiresAt.secondsSince1970).text
                )
            ]
        return .header(AppendToUploadResponse.incomplete, status: 204)
    }
}
