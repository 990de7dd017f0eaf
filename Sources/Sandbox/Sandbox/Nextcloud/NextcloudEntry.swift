internal import FoundationEssentials

/// A file or folder of a person.
struct NextcloudEntry: Sendable {
    /// `oc:fileid`; unchanged when the entry is moved or its contents change.
    let fileID: Int
    /// The path from the person's root: `/Folder/name.txt`; empty for the root itself.
    var path: String
    /// Size in bytes; `nil` for folders.
    var size: Int?
    /// The client's checksum of the bytes, `MD5:…`, unverified.
    var checksum: String?
    /// Changes with the contents.
    var entityTag: String
    var modifiedAt: Date

    var isFolder: Bool { size == nil }
    var name: String { String(path.split(separator: "/").last ?? "") }
    /// The path of its folder.
    var folder: String { path.isEmpty ? "" : String(path.dropLast(name.count + 1)) }
    /// The name of its file in the state directory.
    var object: String { String(fileID) }

    init(fileID: Int, path: String, at time: Date) {
        self.fileID = fileID
        self.path = path
        modifiedAt = time
        entityTag = Self.newEntityTag()
    }

    /// In the format of PHP's `uniqid`.
    static func newEntityTag() -> String {
        let digits = String(UInt64.random(in: 0..<(1 << 52)), radix: 16)
        return String(repeating: "0", count: 13 - digits.count) + digits
    }

    // MARK: On disk

    var storedJSON: JSONValue {
        var json: JSONObject = [
            "fileID": .int(fileID), "path": .string(path), "entityTag": .string(entityTag),
            "modifiedAt": modifiedAt.json,
        ]
        json["size"] = .int(size)
        json["checksum"] = .string(checksum)
        return .object(json)
    }

    /// An entry from its stored form; `nil` if a member is missing.
    init?(json: JSONValue) {
        guard let fileID = json["fileID"]?.int, let path = json["path"]?.string,
            let entityTag = json["entityTag"]?.string, let modifiedAt = Date(json: json["modifiedAt"])
        else { return nil }
        self.fileID = fileID
        self.path = path
        self.entityTag = entityTag
        self.modifiedAt = modifiedAt
        size = json["size"]?.int
        checksum = json["checksum"]?.string
    }
}
