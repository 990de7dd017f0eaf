import HTTPTransport
import HTTPTypes
public import SyncProtocol

/// Google Drive (API v3) with the scope `drive.file`: we see only what we have created.
///
/// Names are not unique in a Drive folder, so no code here looks up a name before writing. Identifiers are requested
/// from Drive beforehand (`files.generateIds`), which makes a repeated creation harmless: the second one is a conflict
/// with our own object.
public struct GoogleDrive: CloudProvider {
    static let files = "https://www.googleapis.com/drive/v3/files"
    static let upload = "https://www.googleapis.com/upload/drive/v3/files"
    static let folderType = "application/vnd.google-apps.folder"
    /// Without this parameter, Drive reports files that their owner has moved to a shared drive as missing ("Implement
    /// shared drive support").
    static let allDrives = [(name: "supportsAllDrives", value: "true")]

    let identifiers = DriveIdentifierReserve()

    public init() {}

    public var storageType: CloudStorageType { .google }

    public func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation {
        let folderID = try DriveFolder(access: access, identifiers: identifiers).identifier()
        let objectID = try identifiers.take(for: access)
        return ObjectReservation(name: name, objectID: objectID, folderID: folderID)
    }

    public func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject {
        let file = try DriveNewFile(reservation, mimeType: mimeType)
        let stored = try DriveUpload(content: content, file: file, access: access).run()
        guard stored.isInBin else { return stored }
        let moved = try takenOutOfBin(stored, from: file.parents, in: access)
        guard !moved.isInBin else { throw .unavailable(detail: "the object stays in the bin") }
        return moved
    }

    /// Moves an object into the person's current folder. Drive accepts files for a folder that its owner has moved to
    /// the bin, and deletes them with the folder after 30 days.
    /// - Returns: the object, which is still in the bin if its owner moved the object itself there.
    func takenOutOfBin(
        _ object: StoredObject, from parents: [String], in access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject {
        access.folder.markDoubtful()
        let folderID = try DriveFolder(access: access, identifiers: identifiers).identifier()
        guard !parents.contains(folderID) else { return object }
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        let url = Self.url(
            of: object.objectID,
            [
                ("addParents", folderID), ("removeParents", parents.joined(separator: ",")),
                ("fields", DriveFile.fields),
            ])
        var request = OutgoingRequest(.google, .metadata, .patch, url)
        request.headers[.contentType] = "application/json; charset=UTF-8"
        request.body = .bytes(Array("{}".utf8)[...])
        return try ProviderJSON.decode(DriveFile.self, try client.send(request).body).stored
    }

    public func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        return try Self.describe(objectID, with: &client).stored
    }

    static func describe(
        _ objectID: String, with client: inout ProviderClient, by deadline: Deadline? = nil
    ) throws(CloudStorageError) -> DriveFile {
        let url = url(of: objectID, [("fields", DriveFile.fields)])
        return try ProviderJSON.decode(
            DriveFile.self, try client.send(OutgoingRequest(.google, .metadata, .get, url), by: deadline).body)
    }

    public func download(
        objectID: String, range: ClosedRange<Int64>?, from access: StorageAccess, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        let url = Self.url(of: objectID, [("alt", "media")])
        var download = ResumableDownload(from: .google, access: access) { DriveVerdict.classify($0, accepting: []) }
        download.range = range
        try download.run(url, begin: begin, receive: receive)
    }

    public func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError) {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        let url = Self.url(of: objectID)
        do throws(CloudStorageError) {
            try client.send(OutgoingRequest(.google, .delete, .delete, url)).confirmDeletion()
        } catch .notFound {
            // Already deleted, by us or by its owner.
        }
    }

    static func url(of objectID: String, _ items: [(name: String, value: String)] = []) -> String {
        OutgoingRequest.url(files + "/" + PercentEncoding.encode(objectID), items + allDrives)
    }

    public func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject? {
        guard let folderID = try DriveFolder(access: access, identifiers: identifiers).existing() else { return nil }
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        let query =
            "name = \(DriveQuery.literal(name)) and \(DriveQuery.literal(folderID)) in parents"
            + " and trashed = false"
        let matches = try DriveQuery.list(query, with: &client)
        return matches.first { $0.name == name }?.stored
    }

    public func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError) {
        guard let folderID = try DriveFolder(access: access, identifiers: identifiers).existing() else { return }
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        try DriveQuery.pages("\(DriveQuery.literal(folderID)) in parents and trashed = false", with: &client) { files in
            page(files.filter { $0.mimeType != Self.folderType }.map(\.stored))
            return true
        }
    }
}
