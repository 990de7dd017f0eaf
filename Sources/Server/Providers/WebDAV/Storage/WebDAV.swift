import HTTPTransport
import HTTPTypes
public import SyncProtocol

/// Files on a WebDAV server (RFC 4918) that a person owns: Nextcloud, ownCloud, or any other.
///
/// Nextcloud and ownCloud have an identifier for each file, which finds it wherever its owner has moved it; on other
/// servers, the name identifies a file. Bytes are sent to a temporary name in the same folder and moved when they are
/// complete, since no server promises that an interrupted request leaves nothing behind.
public struct WebDAV: CloudProvider {
    private let servers: NamedServers
    private let memory = WebDAVMemory()

    public init(servers: NamedServers) { self.servers = servers }

    public var storageType: CloudStorageType { .webDAV }

    /// Makes no request: a missing folder is noticed and created when it is used.
    public func reserve(name: String, in access: StorageAccess) throws(CloudStorageError) -> ObjectReservation {
        ObjectReservation(name: name, objectID: nil, spareName: try ObjectReservation.spareName(for: name))
    }

    public func upload(
        _ content: any UploadContent, as reservation: ObjectReservation, mimeType: String, to access: StorageAccess
    ) throws(CloudStorageError) -> StoredObject {
        try WebDAVUpload(
            content: content, reservation: reservation, mimeType: mimeType,
            client: client(access)
        ).run()
    }

    public func describe(objectID: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject {
        let client = try client(access)
        switch try WebDAVObjectID(objectID) {
        case .file(let fileID):
            guard let found = try client.search(fileID: fileID) else { throw .notFound }
            return try client.stored(found.resource, named: found.names.last ?? "")
        case .name(let name):
            guard let resource = try client.look(at: client.folder + [name]), !resource.isCollection else {
                try client.confirmThatServerIsThere()
                throw .notFound
            }
            return try client.stored(resource, as: .name(name), named: name)
        }
    }

    public func download(
        objectID: String, range: ClosedRange<Int64>?, from access: StorageAccess, begin: (Int64?) -> Void,
        receive: (Span<UInt8>) -> Bool
    ) throws(CloudStorageError) {
        let client = try client(access)
        var download = client.download()
        download.range = range
        switch try WebDAVObjectID(objectID) {
        case .name(let name):
            do {
                try download.run(client.url(name), begin: begin, receive: receive)
            } catch .notFound {
                try client.confirmThatServerIsThere()
                throw .notFound
            }
        case .file(let fileID):
            if let sighting = memory.sighting(of: fileID, client.account) {
                var hasBegun = false
                do {
                    let url = client.address.url(sighting.names)
                    return try download.run(
                        url,
                        begin: { length in
                            hasBegun = true
                            begin(length)
                        }, receive: receive)
                } catch .notFound where !hasBegun {
                    // The file may have been moved in the meantime.
                }
            }
            guard let found = try client.search(fileID: fileID) else { throw .notFound }
            try download.run(client.address.url(found.names), begin: begin, receive: receive)
        }
    }

    public func delete(objectID: String, in access: StorageAccess) throws(CloudStorageError) {
        let client = try client(access)
        let identifier: WebDAVObjectID
        do { identifier = try WebDAVObjectID(objectID) } catch { return }
        switch identifier {
        case .name(let name):
            if try !client.remove(client.url(name)) { try client.confirmThatServerIsThere() }
        case .file(let fileID):
            if let sighting = memory.sighting(of: fileID, client.account), try client.delete(sighting) {
                return memory.forget(fileID, client.account)
            }
            // The file has been moved or changed.
            guard let found = try client.search(fileID: fileID) else { return }
            try client.remove(client.address.url(found.names))
            memory.forget(fileID, client.account)
        }
    }

    /// Also removes what an interrupted upload to a spare name has left behind: the jobs role looks for each name of an
    /// abandoned upload.
    public func find(name: String, in access: StorageAccess) throws(CloudStorageError) -> StoredObject? {
        let client = try client(access)
        if let resource = try client.look(at: client.folder + [name]) {
            return resource.isCollection ? nil : try client.stored(resource, named: name)
        }
        if let upload = WebDAVTemporaryName(ofSpareName: name) { try client.remove(upload) }
        return nil
    }

    public func list(in access: StorageAccess, page: ([StoredObject]) -> Void) throws(CloudStorageError) {
        try WebDAVListing(client: client(access)).run(page)
    }

    func client(_ access: StorageAccess) throws(CloudStorageError) -> WebDAVClient {
        try WebDAVClient(access, servers, memory)
    }
}

extension WebDAVClient {
    /// The description of a resource in our folder; remembers its location.
    func stored(
        _ resource: WebDAVResource, as identifier: WebDAVObjectID? = nil, named name: String
    ) throws(CloudStorageError) -> StoredObject {
        let fileID = resource.fileID.flatMap { finds($0) ? $0 : nil }
        let identifier = identifier ?? fileID.map { .file($0) } ?? .name(name)
        let object = StoredObject(
            objectID: identifier.text, name: name, sizeBytes: resource.sizeBytes ?? -1, providerHash: resource.md5,
            revision: resource.revision,
            createdAt: resource.modified.flatMap(HTTPDate.init).map { WireDate(secondsSince1970: $0.secondsSince1970) })
        guard object.isPlausible else { throw .unavailable(detail: "implausible properties from the WebDAV server") }
        if case .file(let fileID) = identifier, let names = address.names(ofReference: resource.reference) {
            memory.remember(fileID, at: names, entityTag: resource.entityTag, account)
        }
        return object
    }

    /// Deletes the file that was seen, unless its name now has different contents.
    /// - Returns: `false` if the file does not exist or was changed.
    fileprivate func delete(_ sighting: WebDAVMemory.Sighting) throws(CloudStorageError) -> Bool {
        guard let entityTag = sighting.entityTag else { return false }
        let url = address.url(sighting.names)
        let request = request(.delete, .delete, url, headers: [.ifMatch: "\"\(entityTag)\""])
        let reply = try send(request, accepting: [404, 412])
        try confirmDeletion(reply, of: url)
        return reply.status < 300
    }

    /// Removes the remains of an upload to that name.
    func remove(_ upload: WebDAVTemporaryName) throws(CloudStorageError) {
        try remove(url(upload.name))
        if let paths = NextcloudPaths(address), memory.takesChunks(account) != false {
            try remove(url(NextcloudChunks.tail(of: upload.name)))
            do {
                try remove(paths.upload(upload.name))
            } catch .rejected {
                // The server is not a Nextcloud after all.
            }
        }
    }
}
