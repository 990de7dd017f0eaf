import FoundationEssentials
import OpenSSLCrypto

/// A file or folder in an emulated OneDrive.
struct OneDriveItem: FileEntry {
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
    /// Order of creation within the account; ends the ID.
    let sequence: Int

    var byteCount: Int { size }
    var checksum: String? { quickXorHash }

    /// A new item.
    init(
        number: Int, in driveID: String, name: String, parent: String?, isFolder: Bool, mimeType: String, at time: Date
    ) {
        id = "\(driveID)!\(number)"
        sequence = number
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

    /// The root of a new OneDrive.
    static func root(at time: Date) -> OneDriveItem {
        OneDriveItem(
            number: 101, in: RandomText.hexadecimal(16), name: "root", parent: nil, isFolder: true, mimeType: "",
            at: time)
    }
}

/// One user's OneDrive. Names are unique within a folder, ignoring letter case.
typealias OneDrive = FileTree<OneDriveItem>

extension OneDrive {
    /// Sixteen hexadecimal digits; the items' IDs begin with it.
    var driveID: String { String(rootID.prefix { $0 != "!" }) }

    /// The item with that ID.
    subscript(_ id: String) -> OneDriveItem? { entries[id] }

    /// The folder of our app, if it exists.
    var appFolder: OneDriveItem? { entries.values.first(where: \.isAppFolder) }

    /// The item with that name in a folder.
    func child(_ name: String, of folder: String) -> OneDriveItem? {
        let wanted = name.lowercased()
        return entries.values.first { $0.parent == folder && $0.name.lowercased() == wanted }
    }

    /// The items in a folder, by name.
    func children(of folder: String) -> [OneDriveItem] {
        entries.values.filter { $0.parent == folder }.sorted { $0.name < $1.name }
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
enum OneDriveState: String, Codable, Sendable, CaseIterable {
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
