import HTTPTransport
import HTTPTypes

/// The folder that OneDrive provides for our app; the first request for it creates it.
struct AppFolder {
    static let address = OneDrive.drive + "/special/approot"
    let access: StorageAccess

    /// The folder's identifier; the folder exists when this returns.
    func identifier() throws(CloudStorageError) -> String {
        let remembered = access.folder.folderID
        if let remembered, !access.folder.isDueForVerification() { return remembered }
        do {
            let folder = try fetch()
            return folder == remembered ? folder : try access.folder.replace(remembered, by: folder)
        } catch {
            // The verification failed, so the folder is still unverified.
            access.folder.markDoubtful()
            throw error
        }
    }

    /// Requests the folder, which creates it if it is missing.
    @discardableResult
    func fetch(by deadline: Deadline? = nil) throws(CloudStorageError) -> String {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        let request = OutgoingRequest(
            .microsoft, .metadata, .get, OutgoingRequest.url(Self.address, [("$select", "id")]))
        return try ProviderJSON.decode(DriveItem.self, try client.send(request, by: deadline).body).id
    }
}
