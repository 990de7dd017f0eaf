import Expat
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

/// Reads the members of our folder from a reply of any length, a few at a time (RFC 4918, section 9.1).
struct WebDAVListing {
    fileprivate static let longestReplyBytes = 1 << 30
    let client: WebDAVClient

    /// - Parameter page: receives the files, some at a time.
    func run(_ page: ([StoredObject]) -> Void) throws(CloudStorageError) {
        let request = client.request(
            .metadata, .propfind, client.address.url(client.folder) + (client.folder.isEmpty ? "" : "/"),
            headers: [.depth: "1", .contentType: "application/xml"], body: WebDAVResource.propfind())
        var provider = client.provider(accepting: [404])
        var attempt = 0
        while true {
            let failure: (Duration?, CloudStorageError)
            switch try once(request, &provider, page) {
            case nil: return
            case .some(let reason): failure = reason
            }
            attempt += 1
            try provider.wait(
                before: attempt, retryAfter: failure.0, by: client.access.deadline, orThrow: failure.1)
        }
    }

    /// One request, with a renewed token if necessary.
    /// - Returns: the reason to retry, if nothing was handed over yet; `nil` at the end of the list.
    private func once(
        _ request: OutgoingRequest, _ provider: inout ProviderClient, _ page: ([StoredObject]) -> Void
    ) throws(CloudStorageError) -> (Duration?, CloudStorageError)? {
        while true {
            var head: ReplyHead?
            var reading = Reading(client: client)
            do {
                _ = try client.access.transport.stream(
                    try provider.authorized(request), by: client.access.deadline,
                    head: { reply in
                        head = reply
                        return reply.status == 207
                    }, body: { bytes in reading.take(bytes, page) })
            } catch let error as CloudStorageError {
                throw error
            } catch let error as TransportError {
                if let failure = reading.failure { throw failure }
                if case .refused(let reason) = error { throw CloudStorageError(ofRefusal: reason, request) }
                if case .withheld(let reason) = error { throw .withheld(reason) }
                guard head == nil else { throw .unavailable(detail: "connection lost") }
                return (nil, error == .timedOut ? .timedOut : .unavailable(detail: "connection lost"))
            } catch {
                throw .unavailable(detail: "\(error)")
            }
            guard let head else { return (nil, .unavailable(detail: "no reply")) }
            switch try provider.settle(Reply(head: head, body: []), by: client.access.deadline) {
            case .answer where head.status == 207:
                try reading.finish()
                return nil
            case .answer where head.status == 404: return nil
            case .answer: throw .unavailable(detail: "status \(head.status) instead of 207")
            case .tokenRejected, .tokenDoubted, .authorizationCorrected: continue
            case .tryAgain(let retryAfter, let detail): return (retryAfter, .unavailable(detail: detail))
            case .throttled(let retryAfter, _): return (retryAfter, .rateLimited(retryAfter: retryAfter))
            case .failure(let error): throw error
            }
        }
    }

    /// The part of a reply that has arrived.
    private struct Reading: ~Copyable {
        private let client: WebDAVClient
        private var reader: XMLReader?
        private(set) var failure: CloudStorageError?

        init(client: WebDAVClient) { self.client = client }

        /// `false` ends the transfer.
        mutating func take(_ bytes: Span<UInt8>, _ page: ([StoredObject]) -> Void) -> Bool {
            do {
                if reader == nil { reader = try XMLReader(limits: XMLLimits(bytes: WebDAVListing.longestReplyBytes)) }
                let client = client
                let found = try reader?.read(bytes).compactMap(WebDAVResource.init).compactMap { client.member($0) }
                if let found, !found.isEmpty { page(found) }
                return true
            } catch {
                failure = .unavailable(detail: "unreadable list from the WebDAV server: \(error)")
                return false
            }
        }

        mutating func finish() throws(CloudStorageError) {
            do { _ = try reader?.finish() } catch { throw .unavailable(detail: "incomplete list: \(error)") }
        }
    }
}

extension WebDAVClient {
    /// A file directly in our folder; `nil` for anything else.
    fileprivate func member(_ resource: WebDAVResource) -> StoredObject? {
        guard !resource.isCollection, let names = address.names(ofReference: resource.reference),
            names.count == folder.count + 1, let name = names.last
        else { return nil }
        return try? stored(resource, named: name)
    }
}
