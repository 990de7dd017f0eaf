import HTTPTransport
import HTTPTypes

extension WebDAV: OwnerOperations {
    /// MOVE (RFC 4918, section 9.9).
    ///
    /// Sends a URL as the target, as ``WebDAVUpload`` does; if a server behind a TLS-terminating proxy rejects it,
    /// sends the path.
    public func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        let client = try client(access)
        let identifier = try WebDAVObjectID(objectID)
        let target = client.folder + [newName]
        var move = client.request(
            .metadata, .move, client.url(oldName),
            headers: [.destination: client.address.url(target), .overwrite: "F"])
        // WsgiDAV replies with 502 to a URL whose scheme differs from its own.
        if try client.send(move, accepting: [502]).status == 502 {
            move.headers[.destination] = client.address.path(target)
            _ = try client.send(move)
        }
        if case .file = identifier { return true }
        return false
    }

    /// The property `quota-available-bytes` of our folder's collection (RFC 4331), which is negative if unknown.
    public func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64? {
        let root = try client(access).look(at: [], "<d:resourcetype/><d:quota-available-bytes/>")
        return root?.availableBytes.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// First sends the address without a trailing slash: after a DELETE with one, `rclone serve webdav` no longer
    /// notices changes in its storage. Apache redirects that request, and nginx replies with 409.
    public func removeEmptyFolder(in access: StorageAccess) throws(CloudStorageError) {
        let client = try client(access)
        guard !client.folder.isEmpty else { return }
        let url = client.address.url(client.folder)
        let request = client.request(.delete, .delete, url)
        let reply = try client.send(request, accepting: [301, 308, 404, 409, 410])
        guard [301, 308, 409].contains(reply.status) else { return try client.confirmDeletion(reply, of: url) }
        try client.remove(client.address.url(client.folder, isCollection: true))
    }
}
