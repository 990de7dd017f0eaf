import HTTPTransport
import HTTPTypes

extension OneDrive: OwnerOperations {
    private struct NewName: Encodable {
        var name: String
    }

    private struct Drive: Decodable {
        struct Quota: Decodable {
            var remaining: Int64?
        }
        var quota: Quota?
    }

    /// "Update driveItem properties".
    public func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        _ = try client.send(
            OutgoingRequest(
                .microsoft, .metadata, .patch, Self.address(of: objectID), headers: [.contentType: "application/json"],
                body: .bytes(try ProviderJSON.encode(NewName(name: newName))[...])))
        return true
    }

    /// The drive's facet `quota`; it may be hidden from an app that has permission only for its own folder.
    public func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64? {
        var client = ProviderClient(access) { GraphVerdict.classify($0, accepting: []) }
        let url = OutgoingRequest.url(Self.drive, [("$select", "quota")])
        let reply: Reply
        do {
            reply = try client.send(OutgoingRequest(.microsoft, .metadata, .get, url))
        } catch .rejected(code: "403 accessDenied") {
            return nil
        }
        return try ProviderJSON.decode(Drive.self, reply.body).quota?.remaining
    }
}
