internal import Expat

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
        let found = files.entries[number].flatMap { $0.path.hasPrefix(folder + "/") ? $0 : nil }
        return NextcloudProperties(prop, of: caller.account, usedBytes: files.usedBytes)
            .multistatus(found.map { [$0] } ?? [])
    }
}
