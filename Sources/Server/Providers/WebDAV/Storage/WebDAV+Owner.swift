import HTTPTransport
import HTTPTypes

extension WebDAV: OwnerOperations {
    /// MOVE (RFC 4918, section 9.9).
    ///
    /// With a URL as target, as ``WebDAVUpload`` does; a server that refuses it behind a proxy that ends TLS gets the path.
    public func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool {
        let client = try client(access)
        let identifier = try WebDAVObjectID(objectID)
        let target = client.folder + [newName]
        var move = client.request(
            .metadata, .move, client.url(oldName),
            headers: [.destination: client.address.url(target), .overwrite: "F"])
        // WsgiDAV says 502 to a URL whose scheme is not its own.
        if try client.send(move, accepting: [502]).status == 502 {
            move.headers[.destination] = client.address.path(target)
            _ = try client.send(move)
        }
        if case .file = identifier { return true }
        return false
    }

    /// The property `quota-available-bytes` of our folder's collection (RFC 4331), which is negative where it is not known.
    public func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64? {
        let root = try client(access).look(at: [], "<d:resourcetype/><d:quota-available-bytes/>")
        return root?.availableBytes.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Without a slash at the end of its address first: after a DELETE that has one, `rclone serve webdav` notices nothing any
    /// more that changes in its storage. Apache redirects that, and nginx says 409.
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
