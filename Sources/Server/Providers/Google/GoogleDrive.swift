import HTTPTransport
import HTTPTypes
public import SyncProtocol
import Synchronization

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
        let stored = try DriveSession(content, as: file, to: access).run()
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

extension GoogleDrive: OwnerOperations {
    private struct NewName: Encodable {
        var name: String
    }

    private struct About: Decodable {
        struct Quota: Decodable {
            var limit: String?
            var usage: String?
        }
        var storageQuota: Quota?
    }

    /// "Update a file's metadata" (`files.update`).
    public func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        let url = Self.url(of: objectID, [("fields", "id")])
        _ = try client.send(
            OutgoingRequest(
                .google, .metadata, .patch, url, headers: [.contentType: "application/json; charset=UTF-8"],
                body: .bytes(try ProviderJSON.encode(NewName(name: newName))[...])))
        return true
    }

    /// `about.get`; accounts of organizations may have no individual limit.
    public func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64? {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        let url = OutgoingRequest.url("https://www.googleapis.com/drive/v3/about", [("fields", "storageQuota")])
        let about = try ProviderJSON.decode(
            About.self, try client.send(OutgoingRequest(.google, .metadata, .get, url)).body)
        guard let limit = about.storageQuota?.limit.flatMap({ Int64($0) }),
            let usage = about.storageQuota?.usage.flatMap({ Int64($0) })
        else { return nil }
        return max(0, limit.subtractingReportingOverflow(usage).partialValue)
    }

    public func removeEmptyFolder(in access: StorageAccess) throws(CloudStorageError) {
        guard let folderID = try DriveFolder(access: access, identifiers: identifiers).existing() else { return }
        try delete(objectID: folderID, in: access)
    }
}

/// Drive has no download addresses that work without a token.
extension GoogleDrive: DirectUploads {
    /// Lifetime of a session, in seconds: a week (Drive API, "Perform a resumable upload").
    public var longestUploadAddressSeconds: Int64 { 7 * 86_400 }

    /// The session creates the object under the reserved identifier, which is possible only once.
    public func beginDirectUpload(
        of lengthBytes: Int64, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> UploadAddress? {
        let file = try DriveNewFile(reservation, mimeType: mimeType)
        let session = try DriveSession.startSession(for: file, ofBytes: lengthBytes, in: access, by: access.deadline)
        return session.flatMap { uploadAddress(in: $0, mimeType: mimeType) }
    }

    public func uploadAddress(in session: String, mimeType: String) -> UploadAddress? {
        UploadAddress(
            session: session, url: session, form: .resumable, contentType: mimeType,
            granularityBytes: Int64(DriveSession.granularity))
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

/// Finds or creates our folder in a person's drive.
///
/// The folder's identifier is stored before the folder exists, by compare-and-swap, and creating a folder with an
/// identifier that is already in use changes nothing. Processes that need the folder at the same moment therefore end
/// up with the same one.
struct DriveFolder {
    let access: StorageAccess
    let identifiers: DriveIdentifierReserve

    /// The folder's identifier; the folder exists when this returns.
    func identifier() throws(CloudStorageError) -> String {
        let remembered = access.folder.folderID
        if let remembered {
            if !access.folder.isDueForVerification() { return remembered }
            if try isUsable(remembered) { return remembered }
        }
        guard let name = access.folder.name else { throw .rejected(code: "account without folder name") }
        if let existing = try search(name) { return try access.folder.replace(remembered, by: existing) }
        let chosen = try access.folder.replace(remembered, by: try identifiers.take(for: access))
        try create(name, as: chosen)
        return chosen
    }

    /// The folder's identifier if the folder exists; never creates it.
    ///
    /// For a user imported from an older server, only the folder's name is known.
    func existing() throws(CloudStorageError) -> String? {
        if let remembered = access.folder.folderID { return remembered }
        guard let name = access.folder.name, let found = try search(name) else { return nil }
        return try access.folder.replace(nil, by: found)
    }

    /// Whether the folder still exists and is not in the bin.
    private func isUsable(_ folderID: String) throws(CloudStorageError) -> Bool {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        do {
            let folder = try GoogleDrive.describe(folderID, with: &client)
            return folder.trashed != true && folder.mimeType == GoogleDrive.folderType
        } catch .notFound {
            return false
        } catch {
            // The verification failed, so the folder is still unverified.
            access.folder.markDoubtful()
            throw error
        }
    }

    /// The oldest folder with that name at the root of the drive.
    private func search(_ name: String) throws(CloudStorageError) -> String? {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        let query =
            "name = \(DriveQuery.literal(name)) and mimeType = '\(GoogleDrive.folderType)'"
            + " and 'root' in parents and trashed = false"
        return try DriveQuery.list(query, with: &client).first { $0.name == name }?.id
    }

    private func create(_ name: String, as folderID: String) throws(CloudStorageError) {
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: [409]) }
        let folder = DriveNewFile(id: folderID, name: name, mimeType: GoogleDrive.folderType, parents: ["root"])
        var request = OutgoingRequest(
            .google, .metadata, .post, OutgoingRequest.url(GoogleDrive.files, [("fields", "id")]))
        request.headers[.contentType] = "application/json; charset=UTF-8"
        request.body = .bytes(try ProviderJSON.encode(folder)[...])
        _ = try client.send(request)
    }
}

/// Identifiers for new objects, fetched from Drive in small batches per account (Drive API, `files.generateIds`).
///
/// Unused identifiers cost nothing, so a process that ends drops its batch.
final class DriveIdentifierReserve: Sendable {
    private static let lot = 16
    private static let maximumAccounts = 1_000
    private let identifiers = Mutex<[Int64: [String]]>([:])

    /// A unique identifier.
    func take(for access: StorageAccess) throws(CloudStorageError) -> String {
        let key = access.tokens.accountKey
        if let known = identifiers.withLock({ $0[key]?.popLast() }) { return known }
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        let url = OutgoingRequest.url(
            GoogleDrive.files + "/generateIds",
            [("count", "\(Self.lot)"), ("space", "drive"), ("type", "files")])
        var fresh = try ProviderJSON.decode(
            DriveGeneratedIDs.self, try client.send(OutgoingRequest(.google, .metadata, .get, url)).body
        ).ids
        guard let taken = fresh.popLast() else { throw .unavailable(detail: "Drive generated no identifiers") }
        identifiers.withLock { reserve in
            if reserve.count >= Self.maximumAccounts { reserve.removeAll() }
            reserve[key] = fresh
        }
        return taken
    }
}

/// Searches with Drive's query language (Drive API, "Search query terms and operators").
enum DriveQuery {
    /// `text` as a literal of the query language.
    static func literal(_ text: String) -> String {
        var escaped = "'"
        // Escapes scalar by scalar: a quote with a combining accent is one character, but still a quote.
        for scalar in text.unicodeScalars {
            if scalar == "'" || scalar == "\\" { escaped.unicodeScalars.append("\\") }
            escaped.unicodeScalars.append(scalar)
        }
        return escaped + "'"
    }

    /// All matching files, oldest first; equal times are ordered by identifier, so that every process makes the same
    /// choice among duplicates.
    static func list(_ query: String, with client: inout ProviderClient) throws(CloudStorageError) -> [DriveFile] {
        var found: [DriveFile] = []
        try pages(query, with: &client) { page in
            found += page
            return found.count < 1_000
        }
        return found.sorted { ($0.createdTime ?? "", $0.id) < ($1.createdTime ?? "", $1.id) }
    }

    /// Hands over the matching files, a page at a time and in no particular order, while `goesOn` returns true.
    static func pages(
        _ query: String, with client: inout ProviderClient, goesOn: ([DriveFile]) -> Bool
    ) throws(CloudStorageError) {
        var pageToken: String?
        repeat {
            var items = [
                (name: "q", value: query), (name: "spaces", value: "drive"), (name: "corpora", value: "user"),
                (name: "pageSize", value: "100"),
                (name: "fields", value: "nextPageToken,files(\(DriveFile.fields))"),
                (name: "includeItemsFromAllDrives", value: "true"),
            ]
            items += GoogleDrive.allDrives
            if let pageToken { items.append((name: "pageToken", value: pageToken)) }
            let url = OutgoingRequest.url(GoogleDrive.files, items)
            let page = try ProviderJSON.decode(
                DriveFileList.self, try client.send(OutgoingRequest(.google, .metadata, .get, url)).body)
            guard goesOn(page.files) else { return }
            pageToken = page.nextPageToken
        } while pageToken != nil
    }
}
