internal import FoundationEssentials
import OpenSSLCrypto

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
