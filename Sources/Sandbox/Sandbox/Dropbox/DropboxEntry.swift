internal import FoundationEssentials

/// A file or folder in the app's folder.
struct DropboxEntry: Sendable {
    /// `id:` and 22 characters; unchanged when the entry is moved or its contents change.
    let id: String
    /// Its path, with the original letter case: `/Folder/name.txt`.
    var path: String
    /// Size in bytes; `nil` for folders.
    var size: Int?
    /// Dropbox's content hash in lower-case hexadecimal; `nil` for folders.
    var contentHash: String?
    /// Changes with the contents.
    var revision = ""
    var clientModifiedAt: Date
    var serverModifiedAt: Date
    /// Order of creation within the account.
    var sequence = 0

    var isFolder: Bool { size == nil }
    /// The path in lower case, since letter case is ignored in comparisons.
    var pathLower: String { path.lowercased() }
    var name: String { String(path.split(separator: "/").last ?? "") }
    /// The path of its folder; empty for the root.
    var folder: String { String(path.dropLast(name.count + 1)) }

    /// A new entry.
    init(path: String, at time: Date) {
        id = "id:" + RandomText.token(22)
        self.path = path
        clientModifiedAt = time
        serverModifiedAt = time
    }

    /// The entry as shown by the API: `FileMetadata` or `FolderMetadata`.
    func metadata(isTagged: Bool = true) -> JSONObject {
        var json: JSONObject = [:]
        if isTagged { json[".tag"] = isFolder ? "folder" : "file" }
        json["name"] = .string(name)
        json["path_lower"] = .string(pathLower)
        json["path_display"] = .string(path)
        json["id"] = .string(id)
        guard let size else { return json }
        json["client_modified"] = .string(Self.seconds(clientModifiedAt))
        json["server_modified"] = .string(Self.seconds(serverModifiedAt))
        json["rev"] = .string(revision)
        json["size"] = .int(size)
        json["is_downloadable"] = true
        json["content_hash"] = .string(contentHash)
        return json
    }

    /// A revision in Dropbox's format: at least nine hexadecimal digits.
    static func newRevision() -> String {
        let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func seconds(_ date: Date) -> String { date.formatted(Date.ISO8601FormatStyle()) }

    // MARK: On disk

    /// The entry in its stored form.
    var storedJSON: JSONValue {
        var json: JSONObject = [
            "id": .string(id), "path": .string(path), "revision": .string(revision),
            "clientModifiedAt": clientModifiedAt.json, "serverModifiedAt": serverModifiedAt.json,
            "sequence": .int(sequence),
        ]
        json["size"] = .int(size)
        json["contentHash"] = .string(contentHash)
        return .object(json)
    }

    /// An entry from its stored form; `nil` if a member is missing.
    init?(json: JSONValue) {
        guard let id = json["id"]?.string, let path = json["path"]?.string,
            let clientModified = Date(json: json["clientModifiedAt"]),
            let serverModified = Date(json: json["serverModifiedAt"])
        else { return nil }
        self.id = id
        self.path = path
        clientModifiedAt = clientModified
        serverModifiedAt = serverModified
        revision = json["revision"]?.string ?? ""
        size = json["size"]?.int
        contentHash = json["contentHash"]?.string
        sequence = json["sequence"]?.int ?? 0
    }
}
