import HTTPTransport
import HTTPTypes
import SyncProtocol

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
