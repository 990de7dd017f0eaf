internal import FoundationEssentials

/// The parameters of `files.list`, checked.
struct DriveSearch {
    let query: DriveQuery?
    let pageSize: Int
    /// The number of files on earlier pages.
    let offset: Int
    let mask: FieldMask
    private let order: [(key: String, isDescending: Bool)]
    private let fingerprint: String

    private static let orderKeys: Set<String> = [
        "createdTime", "folder", "modifiedByMeTime", "modifiedTime", "name", "name_natural", "quotaBytesUsed",
        "recency", "sharedWithMeTime", "starred", "viewedByMeTime",
    ]
    private static let defaultMask = "kind,incompleteSearch,nextPageToken,files(kind,id,name,mimeType)"

    /// Reads the parameters of a request.
    /// - Throws: ``DriveError`` 400 for the first invalid one.
    init(_ request: SandboxRequest) throws(DriveError) {
        let parameters = request.query
        query = if let text = parameters["q"], !text.isEmpty { try DriveQuery(text) } else { nil }
        let size = parameters["pageSize"].map { Int($0) ?? 0 } ?? 100
        guard (1...1000).contains(size) else {
            throw .invalid("pageSize", "Invalid value '\(size)'. Values must be within the range: [1, 1000]")
        }
        pageSize = size
        for space in (parameters["spaces"] ?? "drive").split(separator: ",") where space != "drive" {
            guard ["appDataFolder", "photos"].contains(space) else { throw .invalid("spaces") }
        }
        guard ["user", "allDrives", "domain", nil].contains(parameters["corpora"]) else { throw .invalid("corpora") }
        mask = try FieldMask(FieldMask.text(request) ?? Self.defaultMask)
        try mask.requireKnown(["kind", "incompleteSearch", "nextPageToken", "files"])
        try mask.child("files")?.requireKnown(DriveResource.fileMembers)
        var order: [(String, Bool)] = []
        for part in (parameters["orderBy"] ?? "").split(separator: ",") {
            let words = part.split(separator: " ")
            guard let key = words.first, Self.orderKeys.contains(String(key)), words.count == 1 || words[1] == "desc"
            else { throw .invalid("orderBy") }
            order.append((String(key), words.count == 2))
        }
        self.order = order
        // A token continues only the search for which it was issued.
        fingerprint = (parameters["q"] ?? "") + "\n" + (parameters["orderBy"] ?? "")
        if let token = parameters["pageToken"] {
            guard let offset = Self.offset(token, fingerprint) else { throw .invalid("pageToken") }
            self.offset = offset
        } else {
            offset = 0
        }
    }

    /// The `nextPageToken` for a page that begins after `offset` files.
    func token(offset: Int) -> String {
        "~!!~" + Data("\(offset)\n\(fingerprint)".utf8).base64EncodedString()
    }

    private static func offset(_ token: String, _ fingerprint: String) -> Int? {
        guard token.hasPrefix("~!!~"), let data = Data(base64Encoded: String(token.dropFirst(4))) else { return nil }
        let halves = String(decoding: data, as: UTF8.self).split(
            separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[1] == fingerprint else { return nil }
        return Int(halves[0])
    }

    /// Whether one file comes before the other: in the requested order, by default the newest first.
    func isOrdered(_ left: DriveFile, _ right: DriveFile) -> Bool {
        for (key, isDescending) in order {
            let comparison: Int =
                switch key {
                case "name": Self.compare(left.name, right.name)
                case "name_natural": Self.compare(left.name.lowercased(), right.name.lowercased())
                case "folder": Self.compare(left.isFolder ? 0 : 1, right.isFolder ? 0 : 1)
                case "createdTime": Self.compare(left.createdAt, right.createdAt)
                case "quotaBytesUsed": Self.compare(left.size ?? 0, right.size ?? 0)
                case "starred": Self.compare(left.isStarred ? 0 : 1, right.isStarred ? 0 : 1)
                default: Self.compare(left.modifiedAt, right.modifiedAt)
                }
            if comparison != 0 { return isDescending ? comparison > 0 : comparison < 0 }
        }
        return left.sequence > right.sequence
    }

    private static func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : left > right ? 1 : 0
    }
}
