import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
public import SyncProtocol

/// Dropbox (API v2); we see only our app's own folder (App folder permission).
///
/// Objects are at the root of that folder. Names are unique there, ignoring letter case, and Dropbox makes repeated
/// uploads harmless: equal contents at the same path count as written; different contents are a conflict (`WriteMode`,
/// `add`). Identifiers (`id:…`) are known only after the upload.
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
        try DropboxUpload(content: content, reservation: reservation, access: access).run()
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
