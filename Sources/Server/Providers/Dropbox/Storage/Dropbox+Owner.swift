import HTTPTransport
import HTTPTypes

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
