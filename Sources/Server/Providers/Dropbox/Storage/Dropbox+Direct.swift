import HTTPTransport
import SyncProtocol

extension Dropbox: DirectUploads, DirectDownloads {
    /// Life of a link for an upload, in seconds; Dropbox allows 60 to 14,400. It cannot be taken back, so it is a short one.
    private static let uploadSeconds: Int64 = 3_600
    /// Life of a link for a download, in seconds (HTTP documentation, `files/get_temporary_link`).
    private static let downloadSeconds: Int64 = 14_400
    /// The most that one request holds, in bytes (HTTP documentation, `files/upload`).
    private static let longestRequestBytes: Int64 = 150 << 20

    public var longestUploadAddressSeconds: Int64 { Self.uploadSeconds }

    /// `files/get_temporary_upload_link`: the commit is evaluated when the bytes come, and the link works once.
    public func beginDirectUpload(
        of lengthBytes: Int64, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> UploadAddress? {
        guard lengthBytes <= Self.longestRequestBytes else { return nil }
        var client = ProviderClient(access) { DropboxVerdict.classify($0) }
        let argument = DropboxNewUploadLink(
            commit: DropboxCommit(path: Self.path(reservation.name)), duration: Self.uploadSeconds)
        let reply = try client.send(try Self.call("get_temporary_upload_link", argument, for: .upload))
        let link = try Self.checked(try ProviderJSON.decode(DropboxLink.self, reply.body).link)
        return uploadAddress(in: link, mimeType: mimeType)
    }

    public func uploadAddress(in session: String, mimeType: String) -> UploadAddress? {
        guard Self.isLink(session) else { return nil }
        return UploadAddress(
            session: session, url: session, form: .whole, contentType: "application/octet-stream",
            granularityBytes: nil)
    }

    public func directlyUploaded(
        as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject? {
        try find(name: reservation.name, in: access)
    }

    /// A link that has been used works no more; another one works until it expires.
    public func endDirectUpload(
        _ session: String, as reservation: ObjectReservation, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        guard Self.isLink(session) else { return true }
        return try directlyUploaded(as: reservation, in: access) != nil
    }

    public func downloadAddress(
        of objectID: String, in access: StorageAccess
    ) throws(CloudStorageError) -> DownloadAddress {
        var client = ProviderClient(access) { DropboxVerdict.classify($0) }
        let reply = try client.send(try Self.call("get_temporary_link", DropboxPath(path: objectID), for: .download))
        return DownloadAddress(
            url: try Self.checked(try ProviderJSON.decode(DropboxLink.self, reply.body).link),
            lifetimeSeconds: Self.downloadSeconds)
    }

    /// Whether what was recorded of an upload is a link, and not the identifier of an upload session.
    static func isLink(_ session: String) -> Bool { session.hasPrefix("https://") }

    /// `link` if it is one of Dropbox's: people's files go nowhere else, whatever a reply says.
    private static func checked(_ link: String) throws(CloudStorageError) -> String {
        guard ExternalService.dropbox.owns(link) else { throw .rejected(code: "bytes at a foreign address") }
        return link
    }
}

/// The argument of `files/get_temporary_upload_link`.
private struct DropboxNewUploadLink: Encodable {
    var commit: DropboxCommit
    var duration: Int64

    enum CodingKeys: String, CodingKey {
        case commit = "commit_info"
        case duration
    }
}

/// Reply of `files/get_temporary_upload_link` and of `files/get_temporary_link`, as far as we use it.
private struct DropboxLink: Decodable {
    var link: String
}
