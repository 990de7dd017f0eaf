internal import FoundationEssentials

/// The control routes below `/sandbox/accounts/ID/files`: the user's actions with the files, outside the app.
struct FileControl {
    let server: SandboxServer
    let account: Account

    /// Handles a request; `path` follows `/files`. A name may contain slashes.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        if account.provider == .microsoft {
            return try OneDriveFileControl(server: server, account: account).respond(to: request, path: path)
        }
        if account.provider == .webdav {
            return try NextcloudFileControl(server: server, account: account).respond(to: request, path: path)
        }
        if account.provider == .dropbox {
            return try DropboxFileControl(server: server, account: account).respond(to: request, path: path)
        }
        guard let drive = server.withState({ $0.drives[account.id] }) else {
            guard path.isEmpty, request.method == "GET" else {
                throw ControlError.badRequest("\(account.provider.rawValue) accounts have no files")
            }
            return SandboxResponse(200, json: [])
        }
        let name = path.joined(separator: "/")
        switch request.method {
        case "GET" where path.isEmpty: return SandboxResponse(200, json: .array(FileListing(drive: drive).json))
        case "GET": return try content(of: try existing(name, request, drive))
        case "PUT" where !path.isEmpty: return try put(name, request, drive)
        case "DELETE" where !path.isEmpty:
            let file = try existing(name, request, drive)
            if request.query["trash"] == "1" {
                let time = server.now
                try server.changeFile(file.id, by: owner, at: time) { file, _ in
                    file.isTrashed = true
                }
            } else {
                try server.removeFile(file.id, by: owner)
            }
            return SandboxResponse(204)
        case "POST" where !path.isEmpty: return try move(try existing(name, request, drive), request)
        default: throw ControlError.methodNotAllowed
        }
    }

    /// Moves a file to a shared drive: `{"sharedDrive": "ID"}`.
    private func move(_ file: DriveFile, _ request: SandboxRequest) throws -> SandboxResponse {
        guard let id = try ControlInterface.json(request)["sharedDrive"]?.string else {
            throw ControlError.badRequest("sharedDrive must be the identifier of a shared drive")
        }
        try server.changeFile(file.id, by: owner, at: server.now) { file, _ in file.sharedDrive = id }
        return SandboxResponse(200, json: try shown(file.id))
    }

    /// The user, who may see everything.
    private var owner: DriveCaller { DriveCaller(owner: account) }

    /// The file with that name: in the folder named by `?folder=`, otherwise the newest one that is not in the trash.
    private func find(_ name: String, _ request: SandboxRequest, _ drive: Drive) -> DriveFile? {
        let listing = FileListing(drive: drive)
        let folder = request.query["folder"]
        let found = drive.files.values.filter { file in
            !file.isFolder && file.name == name && (folder.map { listing.folderName(of: file) == $0 } ?? true)
        }
        return found.max { left, right in
            let (leftTrashed, rightTrashed) = (drive.isTrashed(left), drive.isTrashed(right))
            return leftTrashed == rightTrashed ? left.sequence < right.sequence : leftTrashed
        }
    }

    private func existing(
        _ name: String, _ request: SandboxRequest, _ drive: Drive
    ) throws(ControlError) -> DriveFile {
        guard let file = find(name, request, drive) else { throw .notFound("file \(name) does not exist") }
        return file
    }

    /// The bytes of a file, with headers that prevent a browser from executing them.
    private func content(of file: DriveFile) throws -> SandboxResponse {
        SandboxResponse(
            200,
            headers: [
                ("Content-Type", file.mimeType), ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
            ],
            file: server.directory.contentPath(account.id, file.id), offset: 0, count: file.size ?? 0)
    }

    /// Replaces the content of a file, or creates one that the app may see (with `?visible=0`: may not see).
    private func put(_ name: String, _ request: SandboxRequest, _ drive: Drive) throws -> SandboxResponse {
        let content = try server.directory.receive(request, .md5)
        let time = server.now
        do {
            if let file = find(name, request, drive) {
                try server.changeFile(file.id, by: owner, at: time, content: content) { file, _ in
                    file.modifiedAt = time
                }
                return SandboxResponse(200, json: try shown(file.id))
            }
            let isVisible = request.query["visible"] != "0"
            let project = isVisible ? RegisteredApps.project(of: account.audience) : "the-user"
            let maker = DriveCaller(owner: account, project: project)
            let folder = try folder(request.query["folder"], drive, maker, request)
            let metadata = try DriveMetadata(
                JSONValue.object(["name": .string(name), "parents": [.string(folder)]]).bytes())
            let file = try server.createFile(metadata, content: content, by: maker, request: request)
            return SandboxResponse(201, json: try shown(file.id))
        } catch let error as DriveError {
            server.directory.remove(content.path)
            throw ControlError.badRequest(error.message)
        }
    }

    /// The ID of the folder with that name in the root, which is created if it is missing.
    private func folder(
        _ name: String?, _ drive: Drive, _ maker: DriveCaller, _ request: SandboxRequest
    ) throws -> String {
        guard let name, !name.isEmpty else { return "root" }
        let found = drive.files.values.filter { $0.isFolder && $0.name == name && $0.parent == drive.rootID }
        if let first = found.min(by: { $0.sequence < $1.sequence }) { return first.id }
        let metadata = try DriveMetadata(
            JSONValue.object(["name": .string(name), "mimeType": .string(DriveFile.folderType)]).bytes())
        return try server.createFile(metadata, content: nil, by: maker, request: request).id
    }

    private func shown(_ id: String) throws(ControlError) -> JSONValue {
        guard let drive = server.withState({ $0.drives[account.id] }), let file = drive[id] else {
            throw .notFound("the file has been deleted in the meantime")
        }
        return FileListing(drive: drive).json(file)
    }
}

/// A Drive as shown to a person: with names and folders instead of IDs.
struct FileListing {
    let drive: Drive

    /// All files except folders, in order of creation.
    var files: [DriveFile] {
        drive.files.values.filter { !$0.isFolder }.sorted { $0.sequence < $1.sequence }
    }

    /// All files as JSON.
    var json: [JSONValue] { files.map(json) }

    /// One file as JSON.
    func json(_ file: DriveFile) -> JSONValue {
        [
            "name": .string(file.name), "folder": .string(folderName(of: file)), "size": .int(file.size ?? 0),
            "checkSum": .string(file.md5 ?? ""), "modified": file.modifiedAt.json, "id": .string(file.id),
            "mimeType": .string(file.mimeType), "trashed": .bool(drive.isTrashed(file)),
        ]
    }

    /// The names of the folders down to the file, joined by slashes; empty in the root.
    func folderName(of file: DriveFile) -> String {
        var names: [String] = []
        var current = file.parent
        while let id = current, id != drive.rootID, let folder = drive.files[id] {
            names.append(folder.name)
            current = folder.parent
        }
        return names.reversed().joined(separator: "/")
    }
}

extension DriveCaller {
    /// The user, acting without an app; created files are visible to the apps of `project`.
    init(owner account: Account, project: String = "the-user") {
        self.account = account
        self.project = project
        seesAll = true
        knowsSharedDrives = true
    }
}
