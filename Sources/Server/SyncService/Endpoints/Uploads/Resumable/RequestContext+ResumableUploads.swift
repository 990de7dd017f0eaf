import HTTPTransport
import Store
import SyncProtocol
import Vault

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
    /// - Throws: ``EndpointError/uploadUnknown``.
    func presentUpload(_ uploadUUID: UploadUUID, of userID: UserID, on device: DeviceUUID) throws -> ResumableUpload {
        let found = try store.withSession { try $0.resumableUpload(uploadUUID, of: userID, on: device, at: now) }
        guard let found else { throw EndpointError.uploadUnknown }
        return found
    }

    /// An upload of the caller, once no other request sends bytes of it; or after a time limit, since the other
    /// request's process may have died.
    /// - Parameter settlingTime: how much longer to wait, even for a request that has not been recorded yet.
    /// - Throws: ``EndpointError/uploadUnknown``.
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
    /// - Throws: ``EndpointError/ownerRemoved``, as a request would that began the upload now; the errors with which
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
        throw EndpointError.ownerRemoved
    }
}

extension RequestHead {
    /// How long a phone may be silent within a piece of an upload; the received bytes are then forwarded, and the
    /// request ends.
    public static let silenceLimitOfPieces: Duration = .seconds(5)
}
