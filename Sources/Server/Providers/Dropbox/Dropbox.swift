import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
public import SyncProtocol

/// Dropbox (API v2); we see only our app's own folder (App folder permission).
///
/// Objects are at the root of that folder. Names are unique there, ignoring letter case, and Dropbox makes repeated
/// uploads harmless: identical contents at the same path count as written; different contents are a conflict
/// (`WriteMode`, `add`). Identifiers (`id:…`) are known only after the upload.
public struct Dropbox: CloudProvider {
    static let files = "https://api.dropboxapi.com/2/files/"
    static let content = "https://content.dropboxapi.com/2/files/"

    public init() {}

    public var storageType: CloudStorageType { .dropbox }

    /// Makes no request: no folder is needed, and a name conflict appears only when the name is used.
    public func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation {
        ObjectReservation(name: name, objectID: nil, spareName: try ObjectReservation.spareName(for: name))
    }

    public func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject {
        try DropboxSession(content, as: reservation, to: access).run()
    }

    public func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject {
        try Self.describe(objectID, in: access).stored
    }

    public func download(
        objectID: String, range: ClosedRange<Int64>?, from access: StorageAccess, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        var request = OutgoingRequest(.dropbox, .download, .post, Self.content + "download")
        request.headers[.dropboxArgument] = try DropboxJSON.header(DropboxPath(path: objectID))
        var download = ResumableDownload(from: .dropbox, access: access) { DropboxVerdict.classify($0) }
        download.form = request
        download.range = range
        try download.run(request.url, begin: begin, receive: receive)
    }

    public func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError) {
        var client = ProviderClient(access) { DropboxVerdict.classify($0) }
        do {
            let reply = try client.send(try Self.call("delete_v2", DropboxPath(path: objectID), for: .delete))
            _ = try ProviderJSON.decode(DropboxDeletion.self, reply.body)
        } catch .notFound {
            // Already deleted, by us or by its owner.
        }
    }

    public func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject? {
        do {
            return try Self.describe(Self.path(name), in: access).stored
        } catch .notFound {
            return nil
        }
    }

    /// The app's folder is the root of everything that our tokens can see (`files/list_folder`).
    public func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError) {
        var client = ProviderClient(access) { DropboxVerdict.classify($0) }
        var call = try Self.call("list_folder", DropboxPath(path: ""))
        while true {
            let listed = try ProviderJSON.decode(DropboxFolderPage.self, try client.send(call).body)
            page(listed.entries.compactMap(\.file?.stored))
            guard listed.hasMore else { return }
            call = try Self.call("list_folder/continue", DropboxCursor(cursor: listed.cursor))
        }
    }

    // MARK: Helpers

    /// The path of a name in our folder.
    static func path(_ name: String) -> String { "/" + name }

    /// A file's metadata, by path or identifier; a folder is not one of our files.
    static func describe(
        _ path: String, in access: StorageAccess, by deadline: Deadline? = nil
    ) throws(CloudStorageError) -> DropboxFile {
        var client = ProviderClient(access) { DropboxVerdict.classify($0) }
        let reply = try client.send(try call("get_metadata", DropboxPath(path: path)), by: deadline)
        let file = try ProviderJSON.decode(DropboxFile.self, reply.body)
        guard file.tag != "folder" else { throw .notFound }
        return file
    }

    /// A request whose argument is its body.
    static func call(
        _ route: String, _ argument: some Encodable, for operation: ProviderCall.Operation = .metadata
    ) throws(CloudStorageError) -> OutgoingRequest {
        OutgoingRequest(
            .dropbox, operation, .post, files + route, headers: [.contentType: "application/json"],
            body: .bytes(try DropboxJSON.encode(argument)[...]))
    }
}

extension HTTPField.Name {
    static let dropboxArgument = HTTPField.Name("Dropbox-API-Arg")!
}

extension Dropbox: OwnerOperations {
    private struct Move: Encodable {
        var fromPath: String
        var toPath: String

        enum CodingKeys: String, CodingKey {
            case fromPath = "from_path"
            case toPath = "to_path"
        }
    }

    private struct SpaceUsage: Decodable {
        struct Allocation: Decodable {
            var allocated: Int64?
        }
        var used: Int64?
        var allocation: Allocation?
    }

    /// `files/move_v2`.
    public func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        var client = ProviderClient(access) { DropboxVerdict.classify($0) }
        _ = try client.send(
            try Self.call("move_v2", Move(fromPath: objectID, toPath: Self.path(newName))))
        return true
    }

    /// `users/get_space_usage`; members of a team share its allocation.
    public func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64? {
        var client = ProviderClient(access) { DropboxVerdict.classify($0) }
        let reply = try client.send(
            OutgoingRequest(
                .dropbox, .metadata, .post, "https://api.dropboxapi.com/2/users/get_space_usage",
                headers: [.contentType: "application/json"], body: .bytes(ArraySlice("null".utf8))))
        let usage = try ProviderJSON.decode(SpaceUsage.self, reply.body)
        guard let used = usage.used, let allocated = usage.allocation?.allocated else { return nil }
        return max(0, allocated.subtractingReportingOverflow(used).partialValue)
    }
}

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
