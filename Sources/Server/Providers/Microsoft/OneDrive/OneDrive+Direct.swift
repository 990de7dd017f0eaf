import HTTPTransport
import HTTPTypes
import SyncProtocol

extension OneDrive: DirectUploads, DirectDownloads {
    /// "A short-lived URL", valid for about an hour (Microsoft Graph, "Download driveItem content").
    private static let addressSeconds: Int64 = 3_600

    /// Sessions report their own expiry. This applies while that is still unknown; a few days are usual.
    public var longestUploadAddressSeconds: Int64 { 7 * 86_400 }

    /// A session creates its item under the reserved name, and fails if the name is taken.
    public func beginDirectUpload(
        of lengthBytes: Int64, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> UploadAddress? {
        // Sessions reject empty content.
        guard lengthBytes > 0 else { return nil }
        let creation = OneDriveCreation(access: access, patience: access.deadline.remaining)
        let reply = try creation.startSession(reservation.name, ofBytes: lengthBytes)
        guard reply.status != 409 else { return nil }
        let state = try ProviderJSON.decode(UploadSessionState.self, reply.body)
        guard let url = state.uploadUrl else { throw .unavailable(detail: "the upload session has no address") }
        let session = OneDriveSavedSession(
            url: try ContentHost.checked(url), name: reservation.name, expirationDateTime: state.expirationDateTime)
        return uploadAddress(in: try session.text, mimeType: mimeType)
    }

    public func uploadAddress(in session: String, mimeType: String) -> UploadAddress? {
        guard let saved = try? OneDriveSavedSession(session) else { return nil }
        return UploadAddress(
            session: session, url: saved.url, form: .fragments, contentType: "application/octet-stream",
            granularityBytes: Int64(OneDriveUpload.granularity), expires: saved.expires)
    }

    public func directlyUploaded(
        as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject? {
        try find(name: reservation.name, in: access)
    }

    /// Cancels the session. If the session is unknown, it may have created its item; if there is no item, its host may
    /// not know the session yet.
    public func endDirectUpload(
        _ session: String, as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        let saved = try OneDriveSavedSession(session)
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: [401, 404, 410]) }
        client.presentsToken = false
        let reply = try client.send(OutgoingRequest(.microsoft, .upload, .delete, try ContentHost.checked(saved.url)))
        if reply.status < 300 { return true }
        return try directlyUploaded(as: reservation, in: access) != nil
    }

    public func downloadAddress(
        of objectID: String, in access: StorageAccess
    ) throws(CloudStorageError) -> DownloadAddress {
        DownloadAddress(
            url: try Self.downloadAddress(of: objectID, access, by: access.deadline),
            lifetimeSeconds: Self.addressSeconds)
    }
}
