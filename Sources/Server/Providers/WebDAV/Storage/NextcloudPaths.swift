import SyncProtocol

/// The locations in Nextcloud and ownCloud of everything that belongs to a person's files at
/// `…/remote.php/dav/files/USER/`.
///
/// The path is only a hint; the replies show whether the server is a Nextcloud or an ownCloud.
struct NextcloudPaths {
    private let address: WebDAVAddress
    /// The decoded segments before `remote.php`.
    private let base: [String]
    /// The owner of the files.
    let user: String
    /// The path of the account's collection, relative to the person's files.
    private let inner: [String]

    /// - Returns: `nil` for an address of a different form.
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

    /// The decoded segments of the path at which a server is installed, which precede `remote.php`; `nil` if the
    /// address has a different form.
    static func base(of address: WebDAVAddress) -> [String]? {
        let segments = address.segments
        return segments.firstIndex(of: "remote.php").map { Array(segments[..<$0]) }
    }

    /// Whether the address is below `…/remote.php/dav/` but not one of a person's files: for example, calendars or the
    /// bin.
    static func isBesideFiles(_ address: WebDAVAddress) -> Bool {
        let segments = address.segments
        guard let start = segments.firstIndex(of: "remote.php") else { return false }
        return segments.dropFirst(start + 1).first == "dav" && NextcloudPaths(address) == nil
    }

    /// The address for searches below the person's files.
    var searchURL: String { address.url(absolute: base + ["remote.php", "dav"]) + "/" }

    /// The account's collection as a search names it: Nextcloud uses a path without a server literally, including
    /// percent signs (nextcloud/android, issue 6840).
    var searchScope: String { "/files/" + ([user] + inner).joined(separator: "/") }

    /// The address of ownCloud's metadata about a file, by its number.
    func metadata(ofFileID fileID: String) -> String {
        address.url(absolute: base + ["remote.php", "dav", "meta", fileID]) + "/"
    }

    /// The names, from the account's collection downwards, in a reference that contains the person's name in a
    /// different form than the address, such as in different letter case; only for replies about this person's own
    /// files.
    /// - Returns: `nil` if the reference is not below the collection.
    func names(ofReference reference: String) -> [String]? {
        guard let segments = WebDAVAddress.segments(ofReference: reference) else { return nil }
        let start = base + ["remote.php", "dav", "files"]
        guard segments.starts(with: start), segments.count > start.count else { return nil }
        return names(below: segments.dropFirst(start.count + 1))
    }

    /// The names in a path relative to the person's files; the path is not encoded.
    func names(ofPath path: String) -> [String]? {
        let segments = path.split(separator: "/").map(String.init)
        guard !segments.contains(where: { $0 == "." || $0 == ".." }) else { return nil }
        return names(below: segments[...])
    }

    private func names(below segments: ArraySlice<String>) -> [String]? {
        guard segments.starts(with: inner) else { return nil }
        return Array(segments.dropFirst(inner.count))
    }

    /// The folder of a chunked upload.
    func upload(_ id: String) -> String {
        address.url(absolute: base + ["remote.php", "dav", "uploads", user, id])
    }

    /// A route of the Open Collaboration Services.
    func services(_ route: String) -> String { address.url(absolute: base + ["ocs", "v2.php"]) + "/" + route }
}
