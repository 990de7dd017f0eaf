import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Forwards a piece of an upload to the owner's storage; the last piece stages the file.
///
/// The provider's own upload session keeps the bytes, so any process of any host may receive the next piece. Only one
/// request sends bytes of an upload: a later request takes it over, and the earlier one can no longer record anything.
/// A staged upload keeps its reply for repeated requests.
struct AppendToUploadEndpoint: TransferEndpoint {
    func admit(_ request: AppendToUploadRequest, from caller: GroupCaller, in context: RequestContext) throws {
        // The request does not wait here, since this role has few threads.
        let upload = try context.presentUpload(request.uploadUUID, of: caller.userID, on: caller.device)
        let piece = try Piece(of: upload, context.head, isDirect: request.isDirect)
        let purpose = try UploadPurpose(stored: upload.request)
        _ = try caller.member(of: purpose.sharingGroupUUID, in: context.store)
        guard upload.reply == nil else { return }
        let goal = purpose.goal(from: request.masterVersion, by: caller, in: context)
        try context.requirePresentOwner(of: upload, for: goal, by: caller)
        guard upload.writer.map(\.isAnnounced) ?? true else { return }
        if !piece.confirmsDirectUpload(upload) { try piece.check(against: upload) }
        // From now on, requests for the offset wait for this piece.
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

/// A piece of an upload, as described by its request.
struct Piece {
    let dialect: UploadDialect
    let offset: Int64
    let lengthBytes: Int64
    let digest: PieceDigest?
    /// Whether the client reports that it has sent all bytes directly to the owner's storage.
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

    /// The position after the last byte.
    var end: Int64 { offset + lengthBytes }

    func check(against upload: ResumableUpload) throws(EndpointError) {
        guard offset == upload.progress.storedBytes else {
            throw .uploadOffsetMismatch(current: upload.progress.storedBytes)
        }
        // The upload may not have been known when the piece was read.
        try checkEnd(against: upload)
    }

    private func checkEnd(against upload: ResumableUpload) throws(EndpointError) {
        guard lengthBytes <= upload.lengthBytes, offset <= upload.lengthBytes - lengthBytes else {
            throw .bodyTooLarge(maximumBytes: max(0, upload.lengthBytes - offset))
        }
    }

    /// Whether nothing is left to send, since the client has sent everything to its direct address.
    func confirmsDirectUpload(_ upload: ResumableUpload) -> Bool {
        isDirect && upload.directUntil != nil && lengthBytes == 0 && offset == upload.lengthBytes
    }

    /// The reply once all bytes have arrived.
    /// - Parameter text: the reply that UploadFile would have sent.
    func reply(_ text: String, of upload: ResumableUpload, in context: RequestContext) -> EndpointReply {
        context.replyHeaders = dialect.headers(
            storedBytes: upload.lengthBytes, of: upload.lengthBytes, isComplete: true)
        return .header(text, status: dialect == .tus ? 204 : 200)
    }

    /// The reply while more bytes are expected.
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
