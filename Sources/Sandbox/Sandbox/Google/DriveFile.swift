import FoundationEssentials

/// A file or folder in a user's Drive.
struct DriveFile: Sendable {
    /// The prefix of the media types of folders and of Google's own documents.
    static let documentTypes = "application/vnd.google-apps."
    /// The media type of a folder.
    static let folderType = documentTypes + "folder"

    let id: String
    var name: String
    var mimeType: String
    /// The folder that contains it; `nil` for the root.
    var parent: String?
    /// The shared drive to which the user has moved it.
    var sharedDrive: String?
    let createdAt: Date
    var modifiedAt: Date
    /// When it was actually created here, regardless of its reported creation time: searches find it a little later.
    var changedAt: Date
    /// Whether the file itself was moved to the trash; a file inside a trashed folder is also in the trash.
    var isTrashed = false
    /// Size in bytes; `nil` for folders.
    var size: Int?
    /// MD5 in lower-case hexadecimal; `nil` for folders.
    var md5: String?
    var headRevisionID: String?
    var details: String?
    var isStarred = false
    var properties: [String: String] = [:]
    /// Properties private to the app that set them.
    var appProperties: [String: String] = [:]
    /// The Cloud projects whose apps created or opened it; an app with the scope `drive.file` sees no other files.
    var projects: Set<String> = []
    /// Counts the changes.
    var version = 1
    /// Order of creation within the account.
    var sequence = 0

    /// Whether it is a folder.
    var isFolder: Bool { mimeType == Self.folderType }

    /// The file in its stored form.
    var storedJSON: JSONValue {
        var json: JSONObject = [
            "id": .string(id), "name": .string(name), "mimeType": .string(mimeType),
            "createdAt": createdAt.json, "modifiedAt": modifiedAt.json, "changedAt": changedAt.json,
            "isTrashed": .bool(isTrashed), "isStarred": .bool(isStarred), "version": .int(version),
            "sequence": .int(sequence), "projects": .array(projects.sorted().map { .string($0) }),
            "properties": Self.json(properties), "appProperties": Self.json(appProperties),
        ]
        json["parent"] = .string(parent)
        json["sharedDrive"] = .string(sharedDrive)
        json["size"] = .int(size)
        json["md5"] = .string(md5)
        json["headRevisionID"] = .string(headRevisionID)
        json["description"] = .string(details)
        return .object(json)
    }

    /// A file from its stored form; `nil` if a member is missing.
    init?(json: JSONValue) {
        guard let id = json["id"]?.string, let name = json["name"]?.string, let type = json["mimeType"]?.string,
            let created = Date(json: json["createdAt"]), let modified = Date(json: json["modifiedAt"]),
            let changed = Date(json: json["changedAt"])
        else { return nil }
        self.init(id: id, name: name, mimeType: type, parent: json["parent"]?.string, at: created)
        modifiedAt = modified
        changedAt = changed
        isTrashed = json["isTrashed"]?.bool ?? false
        isStarred = json["isStarred"]?.bool ?? false
        version = json["version"]?.int ?? 1
        sequence = json["sequence"]?.int ?? 0
        projects = Set((json["projects"]?.array ?? []).compactMap(\.string))
        properties = Self.dictionary(json["properties"])
        appProperties = Self.dictionary(json["appProperties"])
        sharedDrive = json["sharedDrive"]?.string
        size = json["size"]?.int
        md5 = json["md5"]?.string
        headRevisionID = json["headRevisionID"]?.string
        details = json["description"]?.string
    }

    /// A new file.
    init(id: String, name: String, mimeType: String, parent: String?, at time: Date) {
        self.id = id
        self.name = name
        self.mimeType = mimeType
        self.parent = parent
        createdAt = time
        modifiedAt = time
        changedAt = time
    }

    static func json(_ dictionary: [String: String]) -> JSONValue {
        var object: JSONObject = [:]
        for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) { object[key] = .string(value) }
        return .object(object)
    }

    private static func dictionary(_ json: JSONValue?) -> [String: String] {
        Dictionary((json?.object?.members ?? []).compactMap { member in member.value.string.map { (member.name, $0) } })
        {
            $1
        }
    }
}

/// One user's Drive.
struct Drive: Sendable {
    let account: String
    let rootID: String
    private(set) var files: [String: DriveFile]
    /// IDs of permanently deleted files, which are never reused.
    private(set) var deletedIDs: Set<String> = []
    private(set) var usedBytes = 0
    private var nextSequence = 1

    /// An empty Drive that contains only its root.
    init(account: String, madeAt time: Date) {
        self.account = account
        rootID = "0A" + RandomText.token(14) + "PVA"
        files = [rootID: DriveFile(id: rootID, name: "My Drive", mimeType: DriveFile.folderType, parent: nil, at: time)]
    }

    /// A Drive from its stored form.
    init(account: String, files stored: [DriveFile]) {
        self.account = account
        rootID = stored.first { $0.parent == nil }?.id ?? ""
        files = Dictionary(stored.map { ($0.id, $0) }) { $1 }
        usedBytes = stored.reduce(0) { $0 + ($1.size ?? 0) }
        nextSequence = (stored.map(\.sequence).max() ?? 0) + 1
    }

    /// The file with that ID; `root` names the root.
    subscript(_ id: String) -> DriveFile? { files[id == "root" ? rootID : id] }

    /// Adds or replaces a file.
    /// - Returns: the stored file.
    @discardableResult
    mutating func put(_ file: DriveFile) -> DriveFile {
        var file = file
        if let old = files[file.id] {
            usedBytes -= old.size ?? 0
            file.version = old.version + 1
        } else {
            file.sequence = nextSequence
            nextSequence += 1
        }
        usedBytes += file.size ?? 0
        files[file.id] = file
        return file
    }

    /// Removes a file, or a folder with its contents.
    /// - Returns: the IDs of everything that was removed.
    mutating func remove(_ id: String) -> [String] {
        var gone: [String] = []
        var waiting = [id]
        while let next = waiting.popLast() {
            guard let file = files.removeValue(forKey: next) else { continue }
            usedBytes -= file.size ?? 0
            deletedIDs.insert(next)
            gone.append(next)
            if file.isFolder { waiting += files.values.filter { $0.parent == next }.map(\.id) }
        }
        return gone
    }

    /// Whether the file or a folder above it is in the trash.
    func isTrashed(_ file: DriveFile) -> Bool {
        var current: DriveFile? = file
        while let one = current {
            if one.isTrashed { return true }
            current = one.parent.flatMap { files[$0] }
        }
        return false
    }
}

/// Drive's file IDs: generated in advance by `generateIds`, and verified without storing a list of them.
enum DriveFileID {
    private static let checkLength = 6

    /// A new ID for files of this account.
    static func generate(for account: String) -> String {
        let random = "1" + RandomText.token(26)
        return random + check(random, account)
    }

    /// Whether `id` was generated by ``generate(for:)`` for this account.
    static func isGenuine(_ id: String, for account: String) -> Bool {
        id.count == 27 + checkLength && id.hasSuffix(check(String(id.dropLast(checkLength)), account))
    }

    /// Six check characters computed from the rest of the ID and the account (FNV-1a).
    private static func check(_ random: String, _ account: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in (account + random).utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let text = String(hash, radix: 36)
        return String((String(repeating: "0", count: 13) + text).suffix(checkLength))
    }
}

/// The metadata that a client sends to create or change a file.
struct DriveMetadata: Sendable {
    var id: String?
    var name: String?
    var mimeType: String?
    var parents: [String]?
    var details: String?
    var isStarred: Bool?
    var isTrashed: Bool?
    var createdTime: Date?
    var modifiedTime: Date?
    /// Changed properties; `nil` removes a property.
    var properties: [String: String?] = [:]
    var appProperties: [String: String?] = [:]
    /// As received, to be stored with an upload.
    let json: JSONValue

    private static let readOnly: Set<String> = [
        "kind", "size", "md5Checksum", "sha1Checksum", "sha256Checksum", "headRevisionId", "ownedByMe", "version",
        "webContentLink", "webViewLink", "explicitlyTrashed", "trashedTime", "owners", "quotaBytesUsed",
    ]
    /// The maximum size of a property's key and value together, in bytes.
    private static let largestPropertyBytes = 124

    /// Reads the metadata from the request's JSON; an absent body means no metadata.
    /// - Throws: ``DriveError`` for invalid JSON, and for members that have a wrong type or are read-only.
    init(_ bytes: [UInt8]) throws(DriveError) {
        let value = bytes.isEmpty ? [:] : try? JSONValue(parsing: bytes)
        guard let value, let object = value.object else { throw DriveError(400, "parseError", "Parse Error") }
        json = value
        for member in object.members {
            let name = member.name
            let value = member.value
            switch name {
            case "id": id = try Self.text(name, value)
            case "name": self.name = try Self.text(name, value)
            case "mimeType": mimeType = try Self.text(name, value)
            case "description": details = try Self.text(name, value)
            case "starred": isStarred = try Self.flag(name, value)
            case "trashed": isTrashed = try Self.flag(name, value)
            case "createdTime": createdTime = try Self.time(name, value)
            case "modifiedTime": modifiedTime = try Self.time(name, value)
            case "properties": properties = try Self.properties(name, value)
            case "appProperties": appProperties = try Self.properties(name, value)
            case "parents":
                guard let ids = value.array, ids.allSatisfy({ $0.string != nil }) else { throw .invalid(name) }
                parents = ids.compactMap(\.string)
            case _ where Self.readOnly.contains(name):
                throw DriveError(
                    403, "fieldNotWritable", "The resource body includes fields which are not directly writable.")
            // The API ignores unknown members.
            default: break
            }
        }
        if let parents, parents.count > 1 {
            throw DriveError(
                400, "invalid", "A file cannot be added to multiple folders: it has one parent.", location: "parents")
        }
    }

    /// Applies to `file` the members that may change after creation.
    func apply(to file: inout DriveFile, at time: Date) {
        if let name { file.name = name }
        if let mimeType { file.mimeType = mimeType }
        if let details { file.details = details }
        if let isStarred { file.isStarred = isStarred }
        if let isTrashed { file.isTrashed = isTrashed }
        for (key, value) in properties { file.properties[key] = value }
        for (key, value) in appProperties { file.appProperties[key] = value }
        file.modifiedAt = modifiedTime ?? time
    }

    private static func text(_ name: String, _ value: JSONValue) throws(DriveError) -> String {
        guard let text = value.string else { throw .invalid(name) }
        return text
    }

    private static func flag(_ name: String, _ value: JSONValue) throws(DriveError) -> Bool {
        guard let flag = value.bool else { throw .invalid(name) }
        return flag
    }

    private static func time(_ name: String, _ value: JSONValue) throws(DriveError) -> Date {
        guard let text = value.string, let time = Date(text: text) else { throw .invalid(name) }
        return time
    }

    private static func properties(_ name: String, _ value: JSONValue) throws(DriveError) -> [String: String?] {
        guard let object = value.object else { throw .invalid(name) }
        var result: [String: String?] = [:]
        for member in object.members {
            if case .null = member.value {
                result[member.name] = .some(nil)
                continue
            }
            let text = try text(name, member.value)
            guard member.name.utf8.count + text.utf8.count <= largestPropertyBytes else {
                throw DriveError(
                    403, "propertyTooLong", "A property's key and value have more than 124 bytes.", location: name)
            }
            result[member.name] = text
        }
        return result
    }
}
