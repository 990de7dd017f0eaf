import HTTPTransport
import SyncProtocol

extension Dropbox: DirectUploads, DirectDownloads {
    /// Lifetime of an upload link, in seconds; Dropbox allows 60 to 14,400. A link cannot be revoked, so its lifetime
    /// is short.
    private static let uploadSeconds: Int64 = 3_600
    /// Lifetime of a download link, in seconds (HTTP documentation, `files/get_temporary_link`).
    private static let downloadSeconds: Int64 = 14_400
    /// The size limit of one request, in bytes (HTTP documentation, `files/upload`).
    private static let longestRequestBytes: Int64 = 150 << 20

    public var longestUploadAddressSeconds: Int64 { Self.uploadSeconds }

    /// `files/get_temporary_upload_link`: Dropbox evaluates the commit when the bytes arrive, and the link works once.
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

    /// A used link no longer works; an unused one works until it expires.
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

    /// Whether the record of an upload is a link, rather than the identifier of an upload session.
    static func isLink(_ session: String) -> Bool { session.hasPrefix("https://") }

    /// `link` if it belongs to Dropbox: people's files are never sent elsewhere, whatever a reply contains.
    private static func checked(_ link: String) throws(CloudStorageError) -> String {
        guard ExternalService.dropbox.owns(link) else { throw .rejected(code: "bytes at an unknown host") }
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
