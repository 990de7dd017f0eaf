internal import FoundationEssentials

/// The control routes below `/sandbox/accounts/ID/files` of a Microsoft account.
struct OneDriveFileControl {
    let server: SandboxServer
    let account: Account

    /// Handles a request; `path` follows `/files`.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        let drive: OneDrive
        do { drive = try server.oneDrive(of: account.id) } catch { throw ControlError.notFound(error.message) }
        let listing = OneDriveListing(drive: drive)
        let name = path.joined(separator: "/")
        switch request.method {
        case "GET" where path.isEmpty: return SandboxResponse(200, json: .array(listing.files.map(listing.json)))
        case "GET": return content(of: try existing(name, request, listing))
        case "PUT" where !path.isEmpty: return try put(name, request, listing)
        case "DELETE" where !path.isEmpty:
            // Items in the recycle bin are not visible through Graph, so they count as deleted.
            let item = try existing(name, request, listing)
            try server.changeOneDrive(of: account.id) { change in change.remove(item.id) }
            return SandboxResponse(204)
        default: throw ControlError.methodNotAllowed
        }
    }

    /// The file with that name: in the folder named by `?folder=`, otherwise the newest.
    private func find(_ name: String, _ request: SandboxRequest, _ listing: OneDriveListing) -> OneDriveItem? {
        let folder = request.query["folder"]
        return listing.files.last { item in
            item.name == name && (folder.map { $0 == listing.drive.folderPath(of: item) } ?? true)
        }
    }

    private func existing(
        _ name: String, _ request: SandboxRequest, _ listing: OneDriveListing
    ) throws(ControlError) -> OneDriveItem {
        guard let item = find(name, request, listing) else { throw .notFound("file \(name) does not exist") }
        return item
    }

    /// The bytes of a file, with headers that prevent a browser from executing them.
    private func content(of item: OneDriveItem) -> SandboxResponse {
        SandboxResponse(
            200,
            headers: [
                ("Content-Type", item.mimeType), ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
            ],
            file: server.directory.contentPath(account.id, item.id), offset: 0, count: item.size)
    }

    /// Replaces the content of a file, or creates one: in the app's folder, unless `?folder=` names another folder in
    /// the root.
    private func put(
        _ name: String, _ request: SandboxRequest, _ listing: OneDriveListing
    ) throws -> SandboxResponse {
        let content = try server.directory.receive(request, .quickXor)
        let time = server.now
        do {
            let existing = find(name, request, listing)
            let folder = try existing == nil ? folder(request.query["folder"]) : ""
            let (item, drive) = try server.changeOneDrive(of: account.id) { change in
                let item =
                    try existing.map { try change.replace($0, by: content, at: time) }
                    ?? change.store(content, as: name, in: folder, conflict: .replace, at: time).item
                return (item, change.drive)
            }
            return SandboxResponse(existing == nil ? 201 : 200, json: OneDriveListing(drive: drive).json(item))
        } catch let error as GraphError {
            server.directory.remove(content.path)
            throw ControlError.badRequest(error.message)
        }
    }

    /// The ID of the folder with that name in the root, which is created if it is missing; without a name, the ID of
    /// the app's folder.
    private func folder(_ name: String?) throws -> String {
        let appFolder = try server.appFolder(of: account.id)
        let time = server.now
        return try server.changeOneDrive(of: account.id) { change in
            guard let name, name != change.drive.folderPath(of: appFolder) + "/" + appFolder.name else {
                return appFolder.id
            }
            guard !name.isEmpty else { return change.drive.rootID }
            return try change.drive.child(name, of: change.drive.rootID)?.id
                ?? change.makeFolder(name, in: change.drive.rootID, at: time).id
        }
    }
}

/// A OneDrive as shown to a person: with names and folders instead of IDs.
struct OneDriveListing {
    let drive: OneDrive

    /// All files except folders, in order of creation.
    var files: [OneDriveItem] {
        drive.items.values.filter { !$0.isFolder }.sorted { $0.sequence < $1.sequence }
    }

    /// One file as JSON.
    func json(_ item: OneDriveItem) -> JSONValue {
        [
            "name": .string(item.name), "folder": .string(drive.folderPath(of: item)), "size": .int(item.size),
            "checkSum": .string(item.quickXorHash ?? ""), "modified": item.modifiedAt.json, "id": .string(item.id),
            "mimeType": .string(item.mimeType), "trashed": false,
        ]
    }
}
