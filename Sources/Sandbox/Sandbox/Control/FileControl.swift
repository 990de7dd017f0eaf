/// The control routes below `/sandbox/accounts/ID/files`: the user's actions with the files, outside the app.
struct FileControl {
    let server: SandboxServer
    let account: Account

    /// Handles a request; `path` follows `/files`. A name may contain slashes.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        guard let files = server.withState({ $0.shownFiles(of: account)?.files }) else {
            guard path.isEmpty, request.method == "GET" else {
                throw ControlError.badRequest("\(account.provider.rawValue) accounts have no files")
            }
            return SandboxResponse(200, json: [])
        }
        let name = path.joined(separator: "/")
        func existing() throws(ControlError) -> ShownFile {
            guard let file = find(name, request, files) else { throw .notFound("file \(name) does not exist") }
            return file
        }
        switch (request.method, account.provider) {
        case ("GET", _) where path.isEmpty: return try SandboxResponse(200, entries: files)
        case ("GET", _): return content(of: try existing())
        case (_, _) where path.isEmpty: throw ControlError.methodNotAllowed
        case ("PUT", _): return try put(name, request, replacing: find(name, request, files))
        case ("DELETE", _):
            try delete(try existing(), request)
            return SandboxResponse(204)
        case ("POST", .google): return try moveToSharedDrive(try existing(), request)
        case ("POST", .webdav):
            guard let target = try ControlInterface.json(request)["path"]?.string else {
                throw ControlError.badRequest("path must be the file's path from the person's root")
            }
            let file = try existing()
            let moved = try translating {
                try server.move(file.path, to: "/" + target, overwrites: false, of: account.id).entry
            }
            return try SandboxResponse(200, entries: try shown(moved.id))
        default: throw ControlError.methodNotAllowed
        }
    }

    // MARK: Finding

    /// The named file. Where names need not be unique: in the folder named by `?folder=`, otherwise the newest one that
    /// is not in the trash. Dropbox: the name is a path, in that folder. Nextcloud: likewise, or a unique name.
    private func find(_ name: String, _ request: SandboxRequest, _ files: [ShownFile]) -> ShownFile? {
        let folder = request.query["folder"]
        let path = path(name, request)
        switch account.provider {
        case .dropbox: return files.first { $0.path.lowercased() == path.lowercased() }
        case .webdav:
            if let file = files.first(where: { $0.path == path }) { return file }
            return folder == nil ? files.last { $0.name == name } : nil
        default:
            let found = files.filter { $0.name == name && (folder ?? $0.folder) == $0.folder }
            return found.last { !$0.trashed } ?? found.last
        }
    }

    /// The path of a file in the folder named by `?folder=`, or in the root.
    private func path(_ name: String, _ request: SandboxRequest) -> String {
        let folder = request.query["folder"] ?? ""
        return (folder.isEmpty ? "/" : "/\(folder)/") + name
    }

    private func shown(_ id: String) throws(ControlError) -> ShownFile {
        let files = server.withState { $0.shownFiles(of: account)?.files }
        guard let file = files?.last(where: { $0.id == id }) else {
            throw .notFound("the file has been deleted in the meantime")
        }
        return file
    }

    /// The bytes of a file, with headers that prevent a browser from executing them.
    private func content(of file: ShownFile) -> SandboxResponse {
        SandboxResponse(
            200,
            headers: [
                ("Content-Type", file.mimeType), ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
            ],
            file: server.directory.contentPath(account.id, file.id), offset: 0, count: file.size)
    }

    // MARK: Changes

    private func translating<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DriveError {
            throw ControlError.badRequest(error.message)
        } catch let error as GraphError {
            throw ControlError.badRequest(error.message)
        } catch let error where error is DropboxError || error is NextcloudError {
            throw ControlError.badRequest("\(error)")
        }
    }

    /// Replaces the content of a file, or creates one.
    private func put(
        _ name: String, _ request: SandboxRequest, replacing file: ShownFile?
    ) throws -> SandboxResponse {
        let checksum: ContentChecksum =
            switch account.provider {
            case .dropbox: .dropbox
            case .microsoft: .quickXor
            default: .md5
            }
        let content = try server.directory.receive(request, checksum)
        do {
            let id = try translating {
                switch account.provider {
                case .dropbox:
                    try server.commit(
                        DropboxCommit(path: path(name, request), mode: .overwrite), content, to: account.id,
                        inUpload: false
                    ).id
                case .microsoft: try putInOneDrive(name, content, request, replacing: file)
                case .webdav: try putInNextcloud(file?.path ?? path(name, request), content)
                default: try putInDrive(name, content, request, replacing: file)
                }
            }
            return try SandboxResponse(file == nil ? 201 : 200, entries: try shown(id))
        } catch {
            server.directory.remove(content.path)
            throw error
        }
    }

    /// With `?trash=1`, moves a Drive's file to the trash. Items in OneDrive's recycle bin are not visible through
    /// Graph, so they count as deleted.
    private func delete(_ file: ShownFile, _ request: SandboxRequest) throws {
        switch account.provider {
        case .dropbox: server.removeDropboxEntry(file.id, of: account.id)
        case .microsoft: try server.changeOneDrive(of: account.id) { change in change.remove(file.id) }
        case .webdav: try server.removeNextcloudEntry(file.path, of: account.id)
        default:
            guard request.query["trash"] == "1" else { return try server.removeFile(file.id, by: owner) }
            try server.changeFile(file.id, by: owner, at: server.now) { file, _ in file.isTrashed = true }
        }
    }

    // MARK: Drive

    /// The user, who may see everything.
    private var owner: DriveCaller { DriveCaller(owner: account) }

    /// Moves a file to a shared drive: `{"sharedDrive": "ID"}`.
    private func moveToSharedDrive(_ file: ShownFile, _ request: SandboxRequest) throws -> SandboxResponse {
        guard let id = try ControlInterface.json(request)["sharedDrive"]?.string else {
            throw ControlError.badRequest("sharedDrive must be the identifier of a shared drive")
        }
        try server.changeFile(file.id, by: owner, at: server.now) { file, _ in file.sharedDrive = id }
        return try SandboxResponse(200, entries: try shown(file.id))
    }

    /// The app may see a new file, unless the request has `?visible=0`.
    private func putInDrive(
        _ name: String, _ content: UploadedContent, _ request: SandboxRequest, replacing file: ShownFile?
    ) throws -> String {
        let time = server.now
        if let file {
            try server.changeFile(file.id, by: owner, at: time, content: content) { file, _ in
                file.modifiedAt = time
            }
            return file.id
        }
        let isVisible = request.query["visible"] != "0"
        let maker = DriveCaller(
            owner: account, project: isVisible ? RegisteredApps.project(of: account.audience) : "the-user")
        let folder = try driveFolder(request.query["folder"], maker, request)
        let metadata = try DriveMetadata(
            JSONValue.object(["name": .string(name), "parents": [.string(folder)]]).bytes())
        return try server.createFile(metadata, content: content, by: maker, request: request).id
    }

    /// The ID of the folder with that name in the root, which is created if it is missing.
    private func driveFolder(_ name: String?, _ maker: DriveCaller, _ request: SandboxRequest) throws -> String {
        guard let name, !name.isEmpty else { return "root" }
        let known = server.withState { state in
            state.drives[account.id].map { $0.entries(below: $0.rootID, isRecursive: false) } ?? []
        }
        let found = known.filter { $0.isFolder && $0.name == name }
        if let first = found.min(by: { $0.sequence < $1.sequence }) { return first.id }
        let metadata = try DriveMetadata(
            JSONValue.object(["name": .string(name), "mimeType": .string(DriveFile.folderType)]).bytes())
        return try server.createFile(metadata, content: nil, by: maker, request: request).id
    }

    // MARK: OneDrive

    /// A new file is stored in the app's folder, unless `?folder=` names another folder in the root.
    private func putInOneDrive(
        _ name: String, _ content: UploadedContent, _ request: SandboxRequest, replacing file: ShownFile?
    ) throws -> String {
        let time = server.now
        let folder = try file == nil ? oneDriveFolder(request.query["folder"]) : ""
        return try server.changeOneDrive(of: account.id) { change in
            if let item = file.flatMap({ change.drive[$0.id] }) {
                return try change.replace(item, by: content, at: time).id
            }
            return try change.store(content, as: name, in: folder, conflict: .replace, at: time).item.id
        }
    }

    /// The ID of the folder with that name in the root, which is created if it is missing; without a name, the ID of
    /// the app's folder.
    private func oneDriveFolder(_ name: String?) throws -> String {
        let appFolder = try server.appFolder(of: account.id)
        let time = server.now
        return try server.changeOneDrive(of: account.id) { change in
            let root = change.drive.rootID
            guard let name, name != change.drive.folderPath(of: appFolder) + "/" + appFolder.name else {
                return appFolder.id
            }
            guard !name.isEmpty else { return root }
            return try change.drive.child(name, of: root)?.id ?? change.makeFolder(name, in: root, at: time).id
        }
    }

    // MARK: Nextcloud

    /// Also creates the folders of a new file.
    private func putInNextcloud(_ path: String, _ content: UploadedContent) throws -> String {
        var folder = ""
        for name in path.split(separator: "/").dropLast() {
            folder += "/" + name
            if server.withState({ $0.nextclouds[account.id]?[folder] }) == nil {
                try server.makeNextcloudFolder(folder, of: account.id)
            }
        }
        return try server.store(content, at: path, checksum: nil, of: account.id).entry.id
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
