import HTTPTransport
import HTTPTypes

extension HTTPRequest.Method {
    static let propfind = HTTPRequest.Method("PROPFIND")!
    static let makeCollection = HTTPRequest.Method("MKCOL")!
    static let move = HTTPRequest.Method("MOVE")!
    static let search = HTTPRequest.Method("SEARCH")!
}

extension HTTPField.Name {
    static let depth = HTTPField.Name("Depth")!
    static let destination = HTTPField.Name("Destination")!
    static let overwrite = HTTPField.Name("Overwrite")!
}

/// One operation's requests to a person's WebDAV server.
struct WebDAVClient {
    private(set) var access: StorageAccess
    let address: WebDAVAddress
    let memory: WebDAVMemory
    /// Our folder, from the account's collection downwards; empty if files are stored directly in the collection.
    let folder: [String]

    private let location: WebDAVLocation
    private let token: String

    /// - Throws: ``CloudStorageError/authorizationRevoked`` if nothing is stored, or if the password is known to be
    ///   rejected.
    init(_ access: StorageAccess, _ servers: NamedServers, _ memory: WebDAVMemory) throws(CloudStorageError) {
        self.access = access
        self.memory = memory
        let current = try access.tokens.current()
        token = current.text
        do { location = try WebDAVLocation(current.location) } catch { throw .authorizationRevoked }
        guard let destination = servers.destination(of: location.root) else {
            throw .serverNotAllowed
        }
        address = WebDAVAddress(root: location.root, destination: destination)
        if location.user != nil {
            self.access.transport = memory.passwordTurns.transport(
                access.transport, of: access.tokens.accountKey, presenting: token, access.backoff)
        }
        // A person may name a nested folder, but nothing outside their collection.
        folder = (access.folder.name ?? "").split(separator: "/").map(String.init).filter { $0 != "." && $0 != ".." }
    }

    var account: Int64 { access.tokens.accountKey }

    /// The address of a name in our folder.
    func url(_ name: String) -> String { address.url(folder + [name]) }

    func request(
        _ operation: ProviderCall.Operation, _ method: HTTPRequest.Method, _ url: String, headers: HTTPFields = [:],
        body: OutgoingBody? = nil
    ) -> OutgoingRequest {
        var request = OutgoingRequest(.webDAV, operation, method, url, headers: headers, body: body)
        request.destination = address.destination
        return request
    }

    /// Sends `request`, with retries if necessary.
    /// - Parameter answers: see ``WebDAVVerdict``.
    func send(
        _ request: OutgoingRequest, accepting answers: Set<Int> = [], by deadline: Deadline? = nil
    ) throws(CloudStorageError) -> Reply {
        var client = provider(accepting: answers)
        return try client.send(request, by: deadline)
    }

    func provider(accepting answers: Set<Int> = []) -> ProviderClient {
        let location = location
        return ProviderClient(access, token: token) { request, token, _ in
            request.headers[.authorization] = location.authorization(token)
        } classify: {
            WebDAVVerdict.classify($0, accepting: answers)
        }
    }

    /// The client with a different deadline.
    func by(_ deadline: Deadline) -> WebDAVClient {
        var copy = self
        copy.access.deadline = deadline
        return copy
    }

    /// A download of the resource at an address.
    func download() -> ResumableDownload {
        ResumableDownload(request(.download, .get, ""), through: provider())
    }

    // MARK: Lookup

    /// The resource with these names, or `nil`.
    func look(
        at names: [String], _ properties: String = WebDAVResource.propertyNames, isCollection: Bool = false,
        by deadline: Deadline? = nil
    ) throws(CloudStorageError) -> WebDAVResource? {
        let url = address.url(names, isCollection: isCollection)
        return try Self.resource(in: try send(looking(at: url, properties), accepting: [404], by: deadline))
    }

    /// Looks up with one request, after a failure that the result explains; the outer `nil` means that this request
    /// fails as well.
    func lookOnce(
        at names: [String], isCollection: Bool = false, by deadline: Deadline
    ) throws(CloudStorageError) -> WebDAVResource?? {
        var provider = provider(accepting: [404])
        let url = address.url(names, isCollection: isCollection)
        switch try provider.sendOnce(looking(at: url, WebDAVResource.propertyNames), by: deadline) {
        case .answer(let reply): return .some(try Self.resource(in: reply))
        case .unknown: return nil
        }
    }

    private func looking(at url: String, _ properties: String) -> OutgoingRequest {
        request(
            .metadata, .propfind, url, headers: [.depth: "0", .contentType: "application/xml"],
            body: WebDAVResource.propfind(properties))
    }

    private static func resource(in reply: Reply) throws(CloudStorageError) -> WebDAVResource? {
        guard reply.status != 404 else { return nil }
        guard let resource = try resources(in: reply).first else {
            throw .unavailable(detail: "unreadable reply from the WebDAV server")
        }
        return resource
    }

    /// Verifies that a 404 concerned only the requested resource: the account's collection must exist.
    ///
    /// For example, a proxy in front of a server that is being moved replies with 404 to everything.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` if the collection does not exist.
    func confirmThatServerIsThere() throws(CloudStorageError) {
        guard try look(at: [], "<d:resourcetype/>") != nil else {
            throw .unavailable(detail: "status 404 for the whole collection")
        }
    }

    /// Whether a file can be found by its `oc:fileid`, which requires the addresses of Nextcloud or ownCloud and a
    /// numeric identifier.
    ///
    /// ownCloud Infinite Scale has identifiers of a different form, and the former addresses, `…/remote.php/webdav/`,
    /// have no search; in both cases, files are found by their names.
    func finds(_ fileID: String) -> Bool { WebDAVObjectID.isFileID(fileID) && NextcloudPaths(address) != nil }

    /// The resource with that `oc:fileid`, wherever its owner has moved it: found by Nextcloud's search (RFC 5323), or
    /// at the path that ownCloud reports.
    func search(fileID: String) throws(CloudStorageError) -> (resource: WebDAVResource, names: [String])? {
        guard let paths = NextcloudPaths(address) else {
            throw .unavailable(detail: "the WebDAV server has no search at this address")
        }
        let found = memory.hasSearch(account) ? try searched(fileID, paths) : try lookUp(fileID, paths)
        guard let found else {
            memory.forget(fileID, account)
            return nil
        }
        // A resource that exists but cannot be addressed is not missing.
        guard let names = address.names(ofReference: found.reference) ?? paths.names(ofReference: found.reference)
        else {
            throw .unavailable(detail: "the WebDAV server finds the file at an unexpected address")
        }
        memory.remember(fileID, at: names, entityTag: found.entityTag, account)
        return (found, names)
    }

    private func searched(_ fileID: String, _ paths: NextcloudPaths) throws(CloudStorageError) -> WebDAVResource? {
        let body =
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
            + "<d:searchrequest xmlns:d=\"DAV:\" xmlns:oc=\"\(WebDAVResource.ownCloud)\"><d:basicsearch>"
            + "<d:select><d:prop>\(WebDAVResource.propertyNames)</d:prop></d:select>"
            + "<d:from><d:scope><d:href>\(paths.searchScope.asXML)</d:href><d:depth>infinity</d:depth></d:scope></d:from>"
            + "<d:where><d:eq><d:prop><oc:fileid/></d:prop><d:literal>\(fileID)</d:literal></d:eq></d:where>"
            + "<d:orderby/></d:basicsearch></d:searchrequest>"
        let request = request(
            .metadata, .search, paths.searchURL, headers: [.contentType: "text/xml"],
            body: .bytes(Array(body.utf8)[...]))
        let reply = try send(request, accepting: [404, 501])
        if reply.status == 501 {
            memory.rememberNoSearch(account)
            return try lookUp(fileID, paths)
        }
        // Only a list, even an empty one, proves that the file does not exist.
        let resources = try Self.resources(in: reply)
        // A resource without an identifier may be the file.
        guard resources.allSatisfy({ $0.fileID.map(WebDAVObjectID.isFileID) == true }) else {
            throw .unavailable(detail: "the WebDAV server finds something that has no identifier")
        }
        return resources.first { $0.fileID == fileID && !$0.isCollection }
    }

    /// The resource at the path that ownCloud reports for that `oc:fileid` (`dav/meta`).
    private func lookUp(_ fileID: String, _ paths: NextcloudPaths) throws(CloudStorageError) -> WebDAVResource? {
        let request = request(
            .metadata, .propfind, paths.metadata(ofFileID: fileID),
            headers: [.depth: "0", .contentType: "application/xml"],
            body: WebDAVResource.propfind("<oc:meta-path-for-user/>"))
        let reply = try send(request, accepting: [404])
        guard reply.status != 404 else {
            try confirmThatServerIsThere()
            return nil
        }
        guard let path = try Self.resources(in: reply).first?.path, let names = paths.names(ofPath: path) else {
            throw .unavailable(detail: "the WebDAV server does not report where the file is")
        }
        // The file may have been moved in the meantime; another request will find it.
        guard let resource = try look(at: names), resource.fileID == fileID else {
            throw .unavailable(detail: "the WebDAV server reports a path that is not the file's")
        }
        return resource.isCollection ? nil : resource
    }

    private static func resources(in reply: Reply) throws(CloudStorageError) -> [WebDAVResource] {
        guard reply.status == 207, let resources = WebDAVResource.all(in: reply.body) else {
            throw .unavailable(detail: "status \(reply.status) or an unreadable reply from the WebDAV server")
        }
        return resources
    }

    // MARK: Changes

    /// Creates our folder and its parent folders.
    func makeFolder(by deadline: Deadline? = nil) throws(CloudStorageError) {
        for end in folder.indices {
            let request = request(.metadata, .makeCollection, address.url(Array(folder[...end]), isCollection: true))
            // 405: the folder exists.
            _ = try send(request, accepting: [405], by: deadline)
        }
    }

    /// Deletes the resource at `url`, if it exists.
    /// - Returns: whether it existed.
    @discardableResult
    func remove(_ url: String, by deadline: Deadline? = nil) throws(CloudStorageError) -> Bool {
        let reply = try send(request(.delete, .delete, url), accepting: [404, 410], by: deadline)
        try confirmDeletion(reply, of: url, by: deadline)
        return reply.status < 300
    }

    /// Verifies that a success in reply to DELETE means that the resource is gone. A success with a body may be the
    /// page of a captive portal, or the server's own message (RFC 9110, section 9.3.5; copyparty).
    func confirmDeletion(_ reply: Reply, of url: String, by deadline: Deadline? = nil) throws(CloudStorageError) {
        do throws(CloudStorageError) { try reply.confirmDeletion() } catch {
            let look = looking(at: url, "<d:resourcetype/>")
            guard try Self.resource(in: try send(look, accepting: [404], by: deadline)) == nil else { throw error }
        }
    }
}
