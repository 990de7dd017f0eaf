import Expat
import OpenSSLCrypto

/// Properties of files and folders, as shown in replies to PROPFIND and SEARCH.
struct NextcloudProperties {
    static let dav = "DAV:"
    static let ownCloud = "http://owncloud.org/ns"
    static let nextcloud = "http://nextcloud.org/ns"

    struct Name: Hashable {
        let namespace: String
        let name: String
    }

    /// The properties for a request without a body (RFC 4918, section 9.1).
    private static let standard = [
        "resourcetype", "getlastmodified", "getcontentlength", "getcontenttype", "getetag", "quota-used-bytes",
        "quota-available-bytes",
    ].map { Name(namespace: dav, name: $0) }

    private let account: Account
    private let usedBytes: Int
    private let asked: [Name]

    /// - Parameter prop: the element `d:prop` of the request; `nil` for the standard properties.
    init(_ prop: XMLElement?, of account: Account, usedBytes: Int) {
        self.account = account
        self.usedBytes = usedBytes
        asked = prop?.children.map { Name(namespace: $0.namespace, name: $0.name) } ?? Self.standard
    }

    /// A reply about these entries.
    func multistatus(_ entries: [NextcloudEntry]) -> SandboxResponse {
        var text =
            "<?xml version=\"1.0\"?>\n<d:multistatus xmlns:d=\"DAV:\" xmlns:s=\"http://sabredav.org/ns\" "
            + "xmlns:oc=\"\(Self.ownCloud)\" xmlns:nc=\"\(Self.nextcloud)\">"
        for entry in entries { text += response(about: entry) }
        return SandboxResponse(
            207, headers: [("Content-Type", "application/xml; charset=utf-8"), ("DAV", "1, 3, extended-mkcol")],
            body: Array((text + "</d:multistatus>\n").utf8))
    }

    /// The reply to LOCK: a lock that nobody holds.
    static func lock(of path: String) -> SandboxResponse {
        let token = IncrementalDigest.digest(of: Array(path.utf8), .md5).hexLowercase
        let text =
            "<?xml version=\"1.0\"?>\n<d:prop xmlns:d=\"DAV:\"><d:lockdiscovery><d:activelock>"
            + "<d:lockscope><d:exclusive/></d:lockscope><d:locktype><d:write/></d:locktype>"
            + "<d:lockroot><d:href>\(PageText.escape(path))</d:href></d:lockroot><d:depth>infinity</d:depth>"
            + "<d:timeout>Second-1800</d:timeout><d:locktoken><d:href>opaquelocktoken:\(token)</d:href></d:locktoken>"
            + "</d:activelock></d:lockdiscovery></d:prop>\n"
        return SandboxResponse(
            200, headers: [("Content-Type", "application/xml; charset=utf-8")], body: Array(text.utf8))
    }

    /// `/remote.php/dav/files/USER/…`, encoded as in Nextcloud; with a trailing slash for a folder.
    static func reference(_ entry: NextcloudEntry, _ account: String) -> String {
        let names = entry.path.split(separator: "/").map { "/" + PercentEncoding.encode(String($0)) }.joined()
        return "/remote.php/dav/files/\(PercentEncoding.encode(account))\(names)\(entry.isFolder ? "/" : "")"
    }

    /// `oc:id` and the header `OC-FileId`: the number with leading zeros, followed by the installation's name.
    static func longID(_ entry: NextcloudEntry) -> String {
        let digits = String(entry.fileID)
        return String(repeating: "0", count: max(0, 8 - digits.count)) + digits + "ocsandbox7x2k"
    }

    private func response(about entry: NextcloudEntry) -> String {
        var found = ""
        var missing = ""
        for name in asked {
            let (start, end) = Self.tags(name)
            if let value = value(name, entry) {
                found += start + value + end
            } else {
                missing += start + end
            }
        }
        var text = "<d:response><d:href>\(Self.reference(entry, account.id))</d:href>"
        if !found.isEmpty {
            text += "<d:propstat><d:prop>\(found)</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>"
        }
        if !missing.isEmpty {
            text += "<d:propstat><d:prop>\(missing)</d:prop><d:status>HTTP/1.1 404 Not Found</d:status></d:propstat>"
        }
        return text + "</d:response>"
    }

    private static func tags(_ name: Name) -> (String, String) {
        let prefixes = [dav: "d", ownCloud: "oc", nextcloud: "nc"]
        if let prefix = prefixes[name.namespace] {
            return ("<\(prefix):\(name.name)>", "</\(prefix):\(name.name)>")
        }
        return ("<x:\(name.name) xmlns:x=\"\(PageText.escape(name.namespace))\">", "</x:\(name.name)>")
    }

    /// The value as XML; `nil` for a property that the entry does not have.
    private func value(_ name: Name, _ entry: NextcloudEntry) -> String? {
        switch (name.namespace, name.name) {
        case (Self.dav, "resourcetype"): entry.isFolder ? "<d:collection/>" : ""
        case (Self.dav, "current-user-principal"):
            "<d:href>/remote.php/dav/principals/users/\(PercentEncoding.encode(account.id))/</d:href>"
        case (Self.ownCloud, "checksums"):
            entry.checksum.map { "<oc:checksum>\(PageText.escape($0))</oc:checksum>" }
        default: text(name, entry).map(PageText.escape)
        }
    }

    private func text(_ name: Name, _ entry: NextcloudEntry) -> String? {
        switch (name.namespace, name.name) {
        case (Self.dav, "getlastmodified"), (Self.dav, "creationdate"): HTTPDate.text(entry.modifiedAt)
        case (Self.dav, "getcontentlength"): entry.size.map(String.init)
        case (Self.dav, "getcontenttype"): entry.isFolder ? nil : MediaType.guess(entry.name)
        case (Self.dav, "getetag"): "\"\(entry.entityTag)\""
        case (Self.dav, "displayname"): entry.path.isEmpty ? account.id : entry.name
        case (Self.dav, "quota-used-bytes"): entry.isFolder ? String(usedBytes) : nil
        case (Self.dav, "quota-available-bytes"):
            entry.isFolder ? String(max(0, account.quotaBytes - usedBytes)) : nil
        case (Self.ownCloud, "id"): Self.longID(entry)
        case (Self.ownCloud, "fileid"): String(entry.fileID)
        case (Self.ownCloud, "size"): String(entry.size ?? usedBytes)
        case (Self.ownCloud, "permissions"): entry.isFolder ? "RGDNVCK" : "RGDNVW"
        case (Self.ownCloud, "favorite"): "0"
        case (Self.ownCloud, "owner-id"): account.id
        case (Self.ownCloud, "owner-display-name"): account.name
        default: nil
        }
    }
}

/// `SEARCH /remote.php/dav/` (RFC 5323; Developer Manual, "Search"), only by a file's number.
struct NextcloudSearch {
    private static let longestBody = 65_536

    let server: SandboxServer
    let caller: NextcloudCaller

    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        guard request.method == "SEARCH" else { throw NextcloudError.methodNotAllowed }
        let dav = NextcloudProperties.dav
        let body = try request.body.readAll(limit: Self.longestBody)
        guard let root = try? XMLElement(parsing: body),
            let search = root.isNamed("searchrequest", in: dav) ? root.child("basicsearch", in: dav) : nil,
            let prop = search.child("select", in: dav)?.child("prop", in: dav),
            let scope = search.child("from", in: dav)?.child("scope", in: dav)?.child("href", in: dav)?.text,
            let equal = search.child("where", in: dav)?.child("eq", in: dav),
            equal.child("prop", in: dav)?.child("fileid", in: NextcloudProperties.ownCloud) != nil,
            // One of Nextcloud's own clients sends the whole `oc:id`, from which the database reads the number.
            let number = equal.child("literal", in: dav).flatMap({ Int($0.text.prefix(while: \.isNumber)) })
        else {
            server.note(request, "search", "the sandbox supports only searches for oc:fileid")
            throw NextcloudError.badRequest("a search that is not understood")
        }
        // A path without a server is not decoded.
        let names = scope.split(separator: "/").map(String.init)
        guard names.starts(with: ["files", caller.account.id]) else {
            throw NextcloudError.badRequest("Search is only supported on the person's own files")
        }
        let folder = names.dropFirst(2).map { "/" + $0 }.joined()
        guard let files = server.withState({ $0.nextclouds[caller.account.id] }) else {
            throw NextcloudError.notFound(folder)
        }
        guard folder.isEmpty || files[folder]?.isFolder == true else {
            throw NextcloudError.notFound(folder)
        }
        let found = files.entries[String(number)].flatMap { $0.path.hasPrefix(folder + "/") ? $0 : nil }
        return NextcloudProperties(prop, of: caller.account, usedBytes: files.usedBytes)
            .multistatus(found.map { [$0] } ?? [])
    }
}
