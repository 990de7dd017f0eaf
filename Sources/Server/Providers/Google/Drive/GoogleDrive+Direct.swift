import HTTPTransport
import HTTPTypes
import SyncProtocol

/// Drive has no download addresses that work without a token.
extension GoogleDrive: DirectUploads {
    /// Lifetime of a session, in seconds: a week (Drive API, "Perform a resumable upload").
    public var longestUploadAddressSeconds: Int64 { 7 * 86_400 }

    /// The session creates the object under the reserved identifier, which is possible only once.
    public func beginDirectUpload(
        of lengthBytes: Int64, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> UploadAddress? {
        let file = try DriveNewFile(reservation, mimeType: mimeType)
        let session = try DriveUpload.startSession(
            for: file, ofBytes: lengthBytes, in: access, by: access.deadline)
        guard let session else { return nil }
        return uploadAddress(in: session.url, mimeType: mimeType)
    }

    public func uploadAddress(in session: String, mimeType: String) -> UploadAddress? {
        UploadAddress(
            session: session, url: session, form: .resumable, contentType: mimeType,
            granularityBytes: Int64(DriveUpload.granularity))
    }

    public func directlyUploaded(
        as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject? {
        guard let objectID = reservation.objectID else { return nil }
        do throws(CloudStorageError) {
            var object = try describe(objectID: objectID, in: access)
            if object.isInBin, let folderID = reservation.folderID {
                object = try takenOutOfBin(object, from: [folderID], in: access)
            }
            return object.isInBin ? nil : object
        } catch .notFound {
            return nil
        }
    }

    /// Cancels the session ("Perform a resumable upload", status 499); a finished or unknown session accepts nothing
    /// more.
    public func endDirectUpload(
        _ session: String, as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        guard ExternalService.google.owns(session) else { return true }
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: [404, 410, 499]) }
        _ = try client.send(OutgoingRequest(.google, .upload, .delete, session))
        return true
    }
}
