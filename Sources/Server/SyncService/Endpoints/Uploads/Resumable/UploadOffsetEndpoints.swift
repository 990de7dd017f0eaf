import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Reports how many bytes of an upload need not be resent, once all earlier bytes have been forwarded.
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

/// Ends an upload. Its bytes in the cloud are deleted after the reply, through the outbox; a request that is sending
/// bytes notices with its next part. A direct address is ended; if that is impossible, the deletion waits until the
/// address expires. A repeated request finds no upload.
struct AbandonUploadEndpoint: Endpoint {
    func respond(
        to request: AbandonUploadRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        try UploadDialect(context.head).check(context.head)
        let upload = try context.presentUpload(request.uploadUUID, of: caller.userID, on: caller.device)
        let isOver = try upload.reply != nil || upload.directUntil == nil || endAddress(of: upload, caller, context)
        let wasThere = try context.store.transaction { session in
            try session.abandonUpload(
                request.uploadUUID, of: caller.userID, on: caller.device, at: context.now,
                lastBytes: isOver ? nil : upload.directUntil)
        }
        guard wasThere else { throw EndpointError.uploadUnknown }
        return .empty(status: 204)
    }

    /// - Returns: whether no more bytes can arrive at the client's direct address.
    private func endAddress(
        of upload: ResumableUpload, _ caller: SignedInUser, _ context: RequestContext
    ) throws -> Bool {
        guard let destination = upload.destination, let sealed = upload.progress.session,
            let session = try context.services.storage.vault.opened(sealed, of: upload.uploadUUID)
        else { return false }
        do {
            let storage = try context.storage(of: destination.owner, for: caller)
            guard let provider = storage.provider as? any DirectUploads else { return false }
            let intent = try UploadIntent.existing(of: upload, destination, storage, by: context.intents)
            return try provider.endDirectUpload(session, as: intent.reservation, in: storage.access)
        } catch {
            context.logger.info(
                "Could not end an upload address: it remains until it expires", metadata: .keyed([.reason: "\(error)"]))
            return false
        }
    }
}

extension AbandonUploadRequest: ServedRequest {
    typealias Handler = AbandonUploadEndpoint
}

/// Reports the server's capabilities to clients of the tus protocol.
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
