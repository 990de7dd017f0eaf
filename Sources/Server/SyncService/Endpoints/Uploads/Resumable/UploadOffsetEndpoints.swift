import HTTPTransport
import Store
import SyncProtocol

/// Tells how many bytes of an upload need not be sent again, once everything that came before has been sent on.
///
/// Changes nothing.
struct GetUploadOffsetEndpoint: Endpoint {
    func respond(
        to request: GetUploadOffsetRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        let dialect = UploadDialect(context.head)
        try dialect.check(context.head)
        let upload = try context.resumableUpload(
            request.uploadUUID, of: caller.userID, on: caller.device, settlingTime: RequestContext.overtakingTime)
        context.replyHeaders =
            dialect.headers(
                storedBytes: upload.progress.storedBytes, of: upload.lengthBytes, isComplete: upload.reply != nil) + [
                (
                    ResponseHeader.uploadExpires.rawValue,
                    HTTPDate(secondsSince1970: upload.expiresAt.secondsSince1970).text
                ),
                (ResponseHeader.cacheControl.rawValue, "no-store"),
            ]
        return .empty(status: 204)
    }
}

extension GetUploadOffsetRequest: ServedRequest {
    typealias Handler = GetUploadOffsetEndpoint
}

/// Ends an upload. What it has left in the cloud is deleted after the reply, through the outbox; a request that is sending
/// bytes notices with its next part. A repeated request finds no upload.
struct AbandonUploadEndpoint: Endpoint {
    func respond(
        to request: AbandonUploadRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        try UploadDialect(context.head).check(context.head)
        let wasThere = try context.store.transaction { session in
            try session.abandonUpload(request.uploadUUID, of: caller.userID, on: caller.device, at: context.now)
        }
        guard wasThere else { throw EndpointError.uploadUnknown }
        return .empty(status: 204)
    }
}

extension AbandonUploadRequest: ServedRequest {
    typealias Handler = AbandonUploadEndpoint
}

/// Tells clients of the tus protocol what the server can do.
struct UploadOptionsEndpoint: Endpoint {
    func respond(
        to request: UploadOptionsRequest, from caller: Anyone, in context: RequestContext
    ) throws -> EndpointReply {
        let largest = "\(context.services.settings.maximumUploadBytes)"
        context.replyHeaders = [
            (ResponseHeader.tusResumable.rawValue, UploadDialect.tusVersion),
            (ResponseHeader.tusVersion.rawValue, UploadDialect.tusVersion),
            (ResponseHeader.tusExtension.rawValue, "creation,checksum,termination,expiration"),
            (ResponseHeader.tusChecksumAlgorithm.rawValue, PieceDigest.algorithmNames.joined(separator: ",")),
            (ResponseHeader.tusMaximumSize.rawValue, largest),
            (ResponseHeader.uploadLimit.rawValue, "max-size=\(largest)"),
        ]
        return .empty(status: 204)
    }
}

extension UploadOptionsRequest: ServedRequest {
    typealias Handler = UploadOptionsEndpoint
}
