import HTTPTransport
import Store
import SyncProtocol
import Vault

extension RequestContext {
    /// For how long a request waits for another one that sends bytes of the same upload: a phone that asks for the offset has
    /// lost its connection, which the other request notices at once, or after ``RequestHead/silenceLimitOfPieces``; what it
    /// has got by then is still being sent to the cloud.
    private static let writerPatience: Duration = .seconds(8)
    /// The same for one that was only announced: the connection may have broken before anything else.
    private static let announcementPatience: Duration = .milliseconds(500)
    /// For how long a question about the offset waits for a request that the phone sent before it, on another connection.
    static let overtakingTime: Duration = .seconds(1)
    private static let pollInterval: Duration = .milliseconds(20)

    /// For how long an upload may go on, in seconds: as long as Google keeps a session.
    static let uploadLifetimeSeconds: Int64 = 7 * 86_400

    /// This request, as rows of uploads name it: as the role that admits a transfer and the one that performs it both know it.
    var writer: String {
        get throws { try head.requestID ?? services.makeUUID() }
    }

    /// An upload of the caller, as it is now.
    /// - Throws: ``EndpointError/uploadUnknown``.
    func presentUpload(_ uploadUUID: UploadUUID, of userID: UserID, on device: DeviceUUID) throws -> ResumableUpload {
        let found = try store.withSession { try $0.resumableUpload(uploadUUID, of: userID, on: device, at: now) }
        guard let found else { throw EndpointError.uploadUnknown }
        return found
    }

    /// An upload of the caller, once no other request sends bytes of it; or after a while, if it does not end: its process
    /// may have died.
    /// - Parameter settlingTime: how much longer to wait, also for a request that has not been heard of yet.
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

    /// Makes sure that the bytes of an upload may still go to the storage in which it was begun; otherwise ends the upload. The
    /// storage is not asked.
    /// - Throws: ``EndpointError/ownerRemoved``, as the request does that would begin the upload now; what makes `goal` refuse.
    func requirePresentOwner(of upload: ResumableUpload, for goal: any UploadGoal, by caller: GroupCaller) throws {
        guard let destination = upload.destination, try !goal.mayUse(storageOf: destination.owner) else { return }
        let now = services.now()
        try store.transaction { session in
            guard let until = upload.directUntil, until > now, upload.progress.session != nil else {
                _ = try session.abandonUpload(upload.uploadUUID, of: caller.userID, on: caller.device, at: now)
                return
            }
            // Its row has the address, which the jobs role ends.
            try session.releaseLease(of: destination.intent, by: upload.uploadUUID.rawValue, at: now)
        }
        throw EndpointError.ownerRemoved
    }
}

extension RequestHead {
    /// How long a phone may be silent within a piece of an upload: then what has come is sent on, and the request ends.
    public static let silenceLimitOfPieces: Duration = .seconds(5)
}
