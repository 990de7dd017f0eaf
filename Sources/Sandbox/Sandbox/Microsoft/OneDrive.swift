import FoundationEssentials
import OpenSSLCrypto

/// A file or folder in an emulated OneDrive.
struct OneDriveItem: Sendable {
    let id: String
    var name: String
    /// The folder that contains it; `nil` for the root.
    var parent: String?
    let isFolder: Bool
    var mimeType: String
    let createdAt: Date
    var modifiedAt: Date
    /// When the contents last changed; hashes may be reported later.
    var contentAt: Date
    /// Size in bytes; 0 for folders.
    var size = 0
    /// The hash in base64; `nil` for folders.
    var quickXorHash: String?
    /// Counts all changes.
    var version = 1
    /// Counts changes to the contents.
    var contentVersion = 1
    /// Whether it is the folder of our app.
    var isAppFolder = false
    /// Order of creation within the account.
    var sequence = 0

    /// A new item.
    init(id: String, name: String, parent: String?, isFolder: Bool, mimeType: String, at time: Date) {
        self.id = id
        self.name = name
        self.parent = parent
        self.isFolder = isFolder
        self.mimeType = mimeType
        createdAt = time
        modifiedAt = time
        contentAt = time
    }

    /// Changes with every change to the item.
    var eTag: String { "\"{\(id)},\(version)\"" }
    /// Changes only with the contents.
    var cTag: String { "\"c:{\(id)},\(contentVersion)\"" }

    /// The item in its stored form.
    var storedJSON: JSONValue {
        var json: JSONObject = [
            "id": .string(id), "name": .string(name), "isFolder": .bool(isFolder), "mimeType": .string(mimeType),
            "createdAt": createdAt.json, "modifiedAt": modifiedAt.json, "contentAt": contentAt.json,
            "size": .int(size), "version": .int(version), "contentVersion": .int(contentVersion),
            "isAppFolder": .bool(isAppFolder), "sequence": .int(sequence),
        ]
        json["parent"] = .string(parent)
        json["quickXorHash"] = .string(quickXorHash)
        return .object(json)
    }

    /// An item from its stored form; `nil` if a member is missing.
    init?(json: JSONValue) {
        guard let id = json["id"]?.string, let name = json["name"]?.string, let isFolder = json["isFolder"]?.bool,
            let created = Date(json: json["createdAt"]), let modified = Date(json: json["modifiedAt"]),
            let content = Date(json: json["contentAt"])
        else { return nil }
        self.init(
            id: id, name: name, parent: json["parent"]?.string, isFolder: isFolder,
            mimeType: json["mimeType"]?.string ?? "application/octet-stream", at: created)
        modifiedAt = modified
        contentAt = content
        size = json["size"]?.int ?? 0
        quickXorHash = json["quickXorHash"]?.string
        version = json["version"]?.int ?? 1
        contentVersion = json["contentVersion"]?.int ?? 1
        isAppFolder = json["isAppFolder"]?.bool ?? false
        sequence = json["sequence"]?.int ?? 0
    }
}

/// One user's OneDrive. Names are unique within a folder, ignoring letter case.
struct OneDrive: Sendable {
    let account: String
    /// Sixteen hexadecimal digits; the items' IDs begin with it.
    let driveID: String
    let rootID: String
    private(set) var items: [String: OneDriveItem]
    private(set) var usedBytes = 0
    private var nextSequence: Int

    /// An empty OneDrive that contains only its root.
    init(account: String, madeAt time: Date) {
        self.account = account
        driveID = RandomText.hexadecimal(16)
        rootID = driveID + "!101"
        items = [
            rootID: OneDriveItem(id: rootID, name: "root", parent: nil, isFolder: true, mimeType: "", at: time)
        ]
        nextSequence = 102
    }

    /// A OneDrive from its stored form.
    init(account: String, items stored: [OneDriveItem]) {
        self.account = account
        rootID = stored.first { $0.parent == nil }?.id ?? ""
        driveID = String(rootID.prefix { $0 != "!" })
        items = Dictionary(stored.map { ($0.id, $0) }) { $1 }
        usedBytes = stored.reduce(0) { $0 + $1.size }
        nextSequence = (stored.map(\.sequence).max() ?? 0) + 102
    }

    /// The ID of the next new item.
    mutating func nextID() -> String {
        defer { nextSequence += 1 }
        return "\(driveID)!\(nextSequence)"
    }

    /// The item with that ID.
    subscript(_ id: String) -> OneDriveItem? { items[id] }

    /// The folder of our app, if it exists.
    var appFolder: OneDriveItem? { items.values.first(where: \.isAppFolder) }

    /// The item with that name in a folder.
    func child(_ name: String, of folder: String) -> OneDriveItem? {
        let wanted = name.lowercased()
        return items.values.first { $0.parent == folder && $0.name.lowercased() == wanted }
    }

    /// The items in a folder, by name.
    func children(of folder: String) -> [OneDriveItem] {
        items.values.filter { $0.parent == folder }.sorted { $0.name < $1.name }
    }

    /// A free name like `name` in the folder: `name 1`, `name 2`, …
    func freeName(like name: String, in folder: String) -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        var number = 0
        var candidate = name
        while child(candidate, of: folder) != nil {
            number += 1
            candidate = "\(name[..<dot]) \(number)\(name[dot...])"
        }
        return candidate
    }

    /// Adds or replaces an item.
    /// - Returns: the stored item.
    @discardableResult
    mutating func put(_ item: OneDriveItem) -> OneDriveItem {
        var item = item
        if let old = items[item.id] {
            usedBytes -= old.size
            item.version = old.version + 1
        } else {
            item.sequence = Int(item.id.drop { $0 != "!" }.dropFirst()) ?? nextSequence
        }
        usedBytes += item.size
        items[item.id] = item
        return item
    }

    /// Removes an item, or a folder with its contents.
    /// - Returns: the IDs of everything that was removed.
    mutating func remove(_ id: String) -> [String] {
        var gone: [String] = []
        var waiting = [id]
        while let next = waiting.popLast() {
            guard let item = items.removeValue(forKey: next) else { continue }
            usedBytes -= item.size
            gone.append(next)
            if item.isFolder { waiting += items.values.filter { $0.parent == next }.map(\.id) }
        }
        return gone
    }

    /// The names of the folders down to the item, joined by slashes; empty in the root.
    func folderPath(of item: OneDriveItem) -> String {
        var names: [String] = []
        var current = item.parent
        while let id = current, id != rootID, let folder = items[id] {
            names.append(folder.name)
            current = folder.parent
        }
        return names.reversed().joined(separator: "/")
    }
}

extension RandomText {
    /// Hexadecimal digits in upper case.
    static func hexadecimal(_ length: Int) -> String {
        String((0..<length).map { _ in "0123456789ABCDEF".randomElement() ?? "0" })
    }
}

/// Items as displayed by Graph.
struct OneDriveResource {
    let server: SandboxServer
    let drive: OneDrive

    /// An item; `select` names the members to include, `nil` for all.
    func json(_ item: OneDriveItem, select: Set<String>? = nil, downloadURL: String? = nil) -> JSONValue {
        let times: JSONValue = [
            "createdDateTime": item.createdAt.json, "lastModifiedDateTime": item.modifiedAt.json,
        ]
        var json: JSONObject = [
            "createdDateTime": item.createdAt.json, "cTag": .string(item.cTag), "eTag": .string(item.eTag),
            "id": .string(item.id), "lastModifiedDateTime": item.modifiedAt.json, "name": .string(item.name),
            "size": .int(size(item)), "webUrl": .string("https://onedrive.live.com/?id=\(item.id)"),
            "fileSystemInfo": times,
        ]
        if let parent = item.parent {
            let folder = drive.folderPath(of: item).split(separator: "/").map { PercentEncoding.encode(String($0)) }
            json["parentReference"] = [
                "driveId": .string(drive.driveID), "driveType": "personal", "id": .string(parent),
                "path": .string((["/drive/root:"] + folder).joined(separator: "/")),
            ]
        } else {
            json["root"] = [:]
        }
        if item.isAppFolder { json["specialFolder"] = ["name": "approot"] }
        if item.isFolder {
            json["folder"] = ["childCount": .int(drive.children(of: item.id).count)]
        } else {
            var file: JSONObject = ["mimeType": .string(item.mimeType)]
            if let hashes = hashes(item) { file["hashes"] = hashes }
            json["file"] = .object(file)
            json["@microsoft.graph.downloadUrl"] = .string(downloadURL)
        }
        guard let select else { return .object(json) }
        var selected: JSONObject = [:]
        for member in json.members where select.contains(member.name) { selected[member.name] = member.value }
        return .object(selected)
    }

    /// The reported size, which may differ from the length of the contents.
    private func size(_ item: OneDriveItem) -> Int {
        item.isFolder ? item.size : item.size + server.withState { $0.settings.oneDriveExtraBytes }
    }

    /// The hash facet as configured: only quickXorHash, also SHA-1 and SHA-256, late, or not at all.
    private func hashes(_ item: OneDriveItem) -> JSONValue? {
        let settings = server.withState { $0.settings }
        let delay = Double(settings.oneDriveHashDelayMilliseconds) / 1_000
        guard settings.oneDriveHashes != .none, delay == 0 || item.contentAt.addingTimeInterval(delay) <= server.now,
            var text = item.quickXorHash
        else { return nil }
        if server.breaks.contains(.wrongMD5) { text = "AAAAAAAAAAAAAAAAAAAAAAAAAAA=" }
        var json: JSONObject = ["quickXorHash": .string(text)]
        if settings.oneDriveHashes == .all {
            let path = server.directory.contentPath(drive.account, item.id)
            for (name, algorithm) in [("sha1Hash", DigestAlgorithm.sha1), ("sha256Hash", .sha256)] {
                let sum = try? StoredContent.checksum(algorithm, of: path)
                json[name] = sum.map { JSONValue.string($0.uppercased()) }
            }
        }
        return .object(json)
    }
}

/// Which hashes the emulated OneDrive reports.
enum OneDriveHashes: String, Sendable {
    case quickXor
    case none
    /// Also SHA-1 and SHA-256, as personal accounts once did.
    case all
}

/// Whether an account has a OneDrive; accounts of organizations may have none.
enum OneDriveState: String, Sendable, CaseIterable {
    case ready
    /// Not set up for the person yet.
    case unprovisioned
    /// The organization has no license for SharePoint Online, on which OneDrive for Business is built.
    case unlicensed

    /// The response to every request for the drive; `nil` if the drive exists.
    var error: GraphError? {
        switch self {
        case .ready: nil
        case .unprovisioned: GraphError(404, "ResourceNotFound", "User's mysite not found.")
        case .unlicensed: GraphError(400, "BadRequest", "Tenant does not have a SPO license.")
        }
    }
}
