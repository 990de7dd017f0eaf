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
        guard wasThere else { throw Refusal(.uploadUnknown) }
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

extension RequestContext {
    /// How long a request waits for another one that sends bytes of the same upload: a phone that asks for the offset
    /// has lost its connection, which the other request notices at once or after ``RequestHead/silenceLimitOfPieces``;
    /// that request then still sends the received bytes to the cloud.
    private static let writerPatience: Duration = .seconds(8)
    /// The same for a request that was only announced: its connection may have broken before it sent anything.
    private static let announcementPatience: Duration = .milliseconds(500)
    /// How long a request for the offset waits for an earlier request of the phone on another connection.
    static let overtakingTime: Duration = .seconds(1)
    private static let pollInterval: Duration = .milliseconds(20)

    /// The lifetime of an upload, in seconds: as long as Google keeps a session.
    static let uploadLifetimeSeconds: Int64 = 7 * 86_400

    /// This request's name in the rows of uploads, known to both the role that admits a transfer and the one that
    /// performs it.
    var writer: String {
        get throws { try head.requestID ?? services.makeUUID() }
    }

    /// An upload of the caller in its current state.
    /// - Throws: ``ErrorCode/uploadUnknown``.
    func presentUpload(_ uploadUUID: UploadUUID, of userID: UserID, on device: DeviceUUID) throws -> ResumableUpload {
        let found = try store.withSession { try $0.resumableUpload(uploadUUID, of: userID, on: device, at: now) }
        guard let found else { throw Refusal(.uploadUnknown) }
        return found
    }

    /// An upload of the caller, once no other request sends bytes of it; or after a time limit, since the other
    /// request's process may have died.
    /// - Parameter settlingTime: how much longer to wait, even for a request that has not been recorded yet.
    /// - Throws: ``ErrorCode/uploadUnknown``.
    func resumableUpload(
        _ uploadUUID: UploadUUID, of userID: UserID, on device: DeviceUUID, settlingTime: Duration = .zero
    ) throws -> ResumableUpload {
        var awaited: ResumableUpload.Writer?
        var patience = deadline.orAfter(settlingTime)
        while true {
            let found = try presentUpload(uploadUUID, of: userID, on: device)
            if let writer = found.writer, writer != awaited, writer.name != head.requestID {
                awaited = writer
                patience = deadline.orAfter(
                    settlingTime + (writer.isAnnounced ? Self.announcementPatience : Self.writerPatience))
            } else if found.writer == nil, awaited != nil {
                awaited = nil
                patience = deadline.orAfter(.zero)
            }
            guard found.reply == nil, services.storage.backoff.pause(Self.pollInterval, deadline: patience) else {
                return found
            }
        }
    }

    /// Checks that the bytes of an upload may still go to the storage in which it was begun; otherwise ends the upload.
    /// Does not query the storage.
    /// - Throws: ``ErrorCode/ownerRemoved``, as a request would that began the upload now; the errors with which
    ///   `goal` rejects it.
    func requirePresentOwner(of upload: ResumableUpload, for goal: any UploadGoal, by caller: GroupCaller) throws {
        guard let destination = upload.destination, try !goal.mayUse(storageOf: destination.owner) else { return }
        let now = services.now()
        try store.transaction { session in
            guard let until = upload.directUntil, until > now, upload.progress.session != nil else {
                _ = try session.abandonUpload(upload.uploadUUID, of: caller.userID, on: caller.device, at: now)
                return
            }
            // The upload's row contains the address, which the jobs role ends.
            try session.releaseLease(of: destination.intent, by: upload.uploadUUID.rawValue, at: now)
        }
        throw Refusal(.ownerRemoved)
    }
}

extension RequestHead {
    /// How long a phone may be silent within a piece of an upload; the received bytes are then forwarded, and the
    /// request ends.
    public static let silenceLimitOfPieces: Duration = .seconds(5)
}

/// Records the progress of an upload over several requests, while this request sends its bytes.
final class UploadRecorder {
    private static let checkInterval: Duration = .seconds(15)

    let upload: ResumableUpload
    /// The hashes of the bytes that have arrived before.
    let arriving: ArrivingHashes
    /// The position after the last byte of this request.
    let pieceEnd: Int64
    private(set) var progress: UploadProgress
    private(set) var session: String?
    private let writer: String
    private let context: RequestContext
    private var checked = ContinuousClock.now

    /// - Parameters:
    ///   - upload: the upload when this request took it over, with its destination.
    ///   - identity: what else the bytes must match.
    ///   - writer: this request.
    /// - Returns: `nil` if the recorded state cannot be used; all bytes must then be resent.
    init?(
        of upload: ResumableUpload, into storageType: CloudStorageType, provenBy identity: ContentIdentity?,
        by writer: String, pieceEnd: Int64, context: RequestContext
    ) throws {
        let progress = upload.progress
        if progress.storedBytes == 0 {
            arriving = ArrivingHashes(for: storageType, provenBy: identity)
        } else {
            let known = ArrivingHashes(
                for: storageType, provenBy: identity, state: progress.hashState, lengthBytes: progress.storedBytes)
            guard let known else { return nil }
            arriving = known
        }
        if let sealed = progress.session {
            guard let opened = try context.services.storage.vault.opened(sealed, of: upload.uploadUUID) else {
                return nil
            }
            session = opened
        }
        self.upload = upload
        self.progress = progress
        self.writer = writer
        self.pieceEnd = pieceEnd
        self.context = context
    }

    /// Records the bytes that the provider keeps.
    /// - Parameters:
    ///   - arriving: the hashes of these bytes.
    ///   - isCertain: whether the provider certainly keeps no more.
    /// - Throws: ``ErrorCode/uploadConflict`` if another request has taken over the upload; ``StoreError``.
    func record(_ session: String?, _ arriving: ArrivingHashes, isCertain: Bool = true) throws {
        let sealed = try session.map { try context.services.storage.vault.sealed($0, of: upload.uploadUUID) }
        let new = UploadProgress(
            storedBytes: arriving.lengthBytes, isCertain: isCertain, hashState: arriving.state, session: sealed)
        try requireOwnership { try $0.record(new, of: upload.uploadUUID, by: writer) }
        progress = new
        self.session = session
    }

    /// Checks from time to time that no other request has taken over the upload.
    /// - Throws: as ``record(_:_:isCertain:)``.
    func keepAlive() throws {
        guard checked.duration(to: .now) > Self.checkInterval else { return }
        try requireOwnership { try $0.isWriter(writer, of: upload.uploadUUID) }
        checked = .now
    }

    private func requireOwnership(_ step: (inout StoreSession) throws -> Bool) throws {
        guard try context.store.transaction({ try step(&$0) }) else { throw Refusal(.uploadConflict) }
    }

    /// Records that all bytes must be resent.
    func startOver() {
        do {
            try requireOwnership { try $0.record(.none, of: upload.uploadUUID, by: writer) }
            progress = .none
            session = nil
        } catch {
            context.logger.info("Could not record the loss of an upload", metadata: .keyed([.reason: "\(error)"]))
        }
    }
}
