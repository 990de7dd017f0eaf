import HTTPTransport
import HTTPTypes

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
