import HTTPTransport
import OpenSSLCrypto
import Store
import SyncProtocol

/// Begins an upload whose bytes arrive in other requests.
///
/// Only its row is written; the cloud is first used when bytes arrive. A repeated request finds the row of the first
/// one, so a lost reply does not cause bytes to be sent twice.
struct UploadBeginning {
    let dialect: UploadDialect
    private let context: RequestContext

    /// - Throws: ``EndpointError`` if the request uses neither protocol, or has a body.
    init(_ context: RequestContext) throws(EndpointError) {
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

    /// The upload's address: below the server's public address, if configured; otherwise beside the address that the
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
