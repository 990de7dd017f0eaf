import SyncProtocol

/// Where Nextcloud and ownCloud have what belongs to a person's files at `…/remote.php/dav/files/USER/`.
///
/// The path is a hint only; the replies tell whether the server is one of these.
struct NextcloudPaths {
    private let address: WebDAVAddress
    /// The decoded segments up to `remote.php`, without it.
    private let base: [String]
    /// Whose files they are.
    let user: String
    /// The folder that the account's collection is below the person's files.
    private let inner: [String]

    /// - Returns: `nil` for an address of another form.
    init?(_ address: WebDAVAddress) {
        let segments = address.segments
        guard let start = segments.firstIndex(of: "remote.php"), segments.count >= start + 4,
            segments[start + 1] == "dav", segments[start + 2] == "files"
        else { return nil }
        self.address = address
        base = Array(segments[..<start])
        user = segments[start + 3]
        inner = Array(segments[(start + 4)...])
    }

    /// The decoded segments of the path at which a server is installed: what is in front of `remote.php`; `nil` if the
    /// address has another form.
    static func base(of address: WebDAVAddress) -> [String]? {
        let segments = address.segments
        return segments.firstIndex(of: "remote.php").map { Array(segments[..<$0]) }
    }

    /// Whether the address is one of `…/remote.php/dav/`, but not of a person's files: of calendars or the bin, for one.
    static func isBesideFiles(_ address: WebDAVAddress) -> Bool {
        let segments = address.segments
        guard let start = segments.firstIndex(of: "remote.php") else { return false }
        return segments.dropFirst(start + 1).first == "dav" && NextcloudPaths(address) == nil
    }

    /// What searches below the person's files.
    var searchURL: String { address.url(absolute: base + ["remote.php", "dav"]) + "/" }

    /// The account's collection, as a search names it: Nextcloud takes a path without a server as it is, percent signs
    /// included (nextcloud/android, issue 6840).
    var searchScope: String { "/files/" + ([user] + inner).joined(separator: "/") }

    /// What ownCloud tells about a file by its number.
    func metadata(ofFileID fileID: String) -> String {
        address.url(absolute: base + ["remote.php", "dav", "meta", fileID]) + "/"
    }

    /// The names from the account's collection downwards of a reference that has the person's name in another form than the
    /// address, such as in other letter case; only for replies about this person's own files.
    /// - Returns: `nil` if it is not below the collection.
    func names(ofReference reference: String) -> [String]? {
        guard let segments = WebDAVAddress.segments(ofReference: reference) else { return nil }
        let start = base + ["remote.php", "dav", "files"]
        guard segments.starts(with: start), segments.count > start.count else { return nil }
        return names(below: segments.dropFirst(start.count + 1))
    }

    /// The same of a path that begins at the person's files; it is not encoded.
    func names(ofPath path: String) -> [String]? {
        let segments = path.split(separator: "/").map(String.init)
        guard !segments.contains(where: { $0 == "." || $0 == ".." }) else { return nil }
        return names(below: segments[...])
    }

    private func names(below segments: ArraySlice<String>) -> [String]? {
        guard segments.starts(with: inner) else { return nil }
        return Array(segments.dropFirst(inner.count))
    }

    /// The folder of an upload in chunks.
    func upload(_ id: String) -> String {
        address.url(absolute: base + ["remote.php", "dav", "uploads", user, id])
    }

    /// A route of the Open Collaboration Services.
    func services(_ route: String) -> String { address.url(absolute: base + ["ocs", "v2.php"]) + "/" + route }
}
