internal import FoundationEssentials

/// The emulated routes of the Drive API, version 3.
struct DriveRoutes {
    let server: SandboxServer
    let effect: FaultEffect

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            let segments = request.segments
            if let place = segments.firstIndex(of: "upload"),
                segments.dropFirst(place).starts(with: ["upload", "drive", "v3", "files"])
            {
                return try DriveUploads(server: server, effect: effect).respond(
                    to: request, fileID: segments.dropFirst(place + 4).first)
            }
            let caller = try DriveCaller(request, server: server)
            switch (request.method, segments.dropFirst(2).first, segments.count) {
            case ("GET", "files", 3): return try list(request, caller)
            case ("POST", "files", 3): return try create(request, caller)
            case ("GET", "about", 3): return try about(request, caller)
            case ("GET", "files", 4) where segments[3] == "generateIds": return try generateIDs(request, caller)
            case ("DELETE", "files", 4) where segments[3] == "trash": return try emptyTrash(caller)
            case ("GET", "files", 4): return try get(segments[3], request, caller)
            case ("PATCH", "files", 4): return try update(segments[3], request, caller)
            case ("DELETE", "files", 4): return try delete(segments[3], caller)
            default:
                server.note(request, "unknown-route", "the sandbox's Drive has no \(request.method) \(request.path)")
                throw DriveError(404, "notFound", "Not Found")
            }
        } catch let error as DriveError {
            return error.response(server)
        }
    }

    /// The Drive of the caller's account.
    private func drive(_ caller: DriveCaller) throws(DriveError) -> Drive {
        guard let drive = server.withState({ $0.drives[caller.account.id] }) else {
            throw DriveError(500, "internalError", "The sandbox has no Drive for this account")
        }
        return drive
    }

    /// Metadata from a JSON body of at most 1 MiB.
    static func metadata(_ request: SandboxRequest, server: SandboxServer) throws -> DriveMetadata {
        let bytes = try request.body.readAll(limit: 1 << 20)
        if !bytes.isEmpty, request.mediaType != "application/json" {
            server.note(request, "content-type", "metadata must be sent as application/json, not \(request.mediaType)")
            throw DriveError(400, "badContent", "Unsupported content with type: \(request.mediaType)")
        }
        return try DriveMetadata(bytes)
    }

    // MARK: Reading

    private func get(_ id: String, _ request: SandboxRequest, _ caller: DriveCaller) throws -> SandboxResponse {
        let drive = try drive(caller)
        let file = try caller.file(id, in: drive)
        if request.query["alt"] == "media" { return try download(file, request, caller) }
        let mask = try DriveResource.mask(request)
        let resource = DriveResource(server: server, account: caller.account)
        return SandboxResponse(200, json: resource.json(file, in: drive, mask: mask, isWhole: true))
    }

    private func download(
        _ file: DriveFile, _ request: SandboxRequest, _ caller: DriveCaller
    ) throws(DriveError) -> SandboxResponse {
        guard var size = file.size else {
            throw DriveError(
                403, "fileNotDownloadable", "Only files with binary content can be downloaded.", location: "alt")
        }
        if server.breaks.contains(.dropLastByte) { size = max(0, size - 1) }
        let path = server.directory.contentPath(caller.account.id, file.id)
        var headers: [(name: String, value: String)] = [
            ("Content-Type", file.mimeType), ("Accept-Ranges", "bytes"), ("Content-Disposition", "attachment"),
            ("Cache-Control", "private, max-age=0, must-revalidate"),
        ]
        switch ByteRange(request.header("range"), length: size) {
        case .whole: return SandboxResponse(200, headers: headers, file: path, offset: 0, count: size)
        case .part(let first, let last):
            headers.append(("Content-Range", "bytes \(first)-\(last)/\(size)"))
            return SandboxResponse(206, headers: headers, file: path, offset: first, count: last - first + 1)
        case .unsatisfiable:
            var response = DriveError(
                416, "requestedRangeNotSatisfiable", "Request range not satisfiable", location: "Range"
            ).response(server)
            response.headers.append(("Content-Range", "bytes */\(size)"))
            return response
        }
    }

    private func list(_ request: SandboxRequest, _ caller: DriveCaller) throws -> SandboxResponse {
        let search = try DriveSearch(request)
        let drive = try drive(caller)
        let lag = Double(server.withState { $0.settings.searchLagMilliseconds }) / 1_000
        let known = lag == 0 ? Date.distantFuture : server.now.addingTimeInterval(-lag)
        let isEverywhere = request.query["includeItemsFromAllDrives"] == "true"
        let found = drive.files.values.filter { file in
            file.parent != nil && caller.sees(file) && (isEverywhere || file.sharedDrive == nil)
                && file.changedAt <= known
                && search.query?.matches(file, in: drive, email: caller.account.email) ?? true
        }.sorted(by: search.isOrdered)
        let page = found.dropFirst(search.offset).prefix(search.pageSize)
        var json: JSONObject = ["kind": "drive#fileList", "incompleteSearch": false]
        if search.offset + page.count < found.count {
            json["nextPageToken"] = .string(search.token(offset: search.offset + page.count))
        }
        let resource = DriveResource(server: server, account: caller.account)
        if let fileMask = search.mask.child("files") {
            json["files"] = .array(page.map { resource.json($0, in: drive, mask: fileMask) })
        }
        return SandboxResponse(200, json: search.mask.project(.object(json)))
    }

    private func about(_ request: SandboxRequest, _ caller: DriveCaller) throws -> SandboxResponse {
        guard let fields = FieldMask.text(request) else {
            server.note(request, "fields", "about.get requires the parameter fields")
            throw DriveError(400, "required", "The 'fields' parameter is required for this method.", location: "fields")
        }
        let used = String(try drive(caller).usedBytes)
        return SandboxResponse(
            200,
            json: try FieldMask(fields).project([
                "kind": "drive#about",
                "user": [
                    "kind": "drive#user", "displayName": .string(caller.account.name), "me": true,
                    "permissionId": .string(caller.account.id), "emailAddress": .string(caller.account.email),
                ],
                "storageQuota": [
                    "limit": .string(String(caller.account.quotaBytes)), "usage": .string(used),
                    "usageInDrive": .string(used), "usageInDriveTrash": "0",
                ],
                "maxUploadSize": "5497558138880",
            ]))
    }

    private func generateIDs(_ request: SandboxRequest, _ caller: DriveCaller) throws -> SandboxResponse {
        let count = request.query["count"].map { Int($0) ?? -1 } ?? 10
        guard (1...1000).contains(count) else {
            server.note(request, "count", "count must be 1 to 1000")
            throw DriveError.invalid("count", "Invalid value. Values must be within the range: [1, 1000]")
        }
        guard ["drive", nil].contains(request.query["space"]) else { throw DriveError.invalid("space") }
        return SandboxResponse(
            200,
            json: [
                "kind": "drive#generatedIds", "space": "drive",
                "ids": .array((0..<count).map { _ in .string(DriveFileID.generate(for: caller.account.id)) }),
            ])
    }

    // MARK: Changes

    private func create(_ request: SandboxRequest, _ caller: DriveCaller) throws -> SandboxResponse {
        let mask = try DriveResource.mask(request)
        let metadata = try Self.metadata(request, server: server)
        let file = try server.createFile(metadata, content: nil, by: caller, request: request)
        return SandboxResponse(
            200,
            json: DriveResource(server: server, account: caller.account).json(file, in: try drive(caller), mask: mask))
    }

    private func update(_ id: String, _ request: SandboxRequest, _ caller: DriveCaller) throws -> SandboxResponse {
        let mask = try DriveResource.mask(request)
        let metadata = try Self.metadata(request, server: server)
        let time = server.now
        let file: DriveFile
        do {
            file = try server.changeFile(id, by: caller, at: time) { file, drive throws(DriveError) in
                try move(&file, in: drive, request, metadata, caller)
                metadata.apply(to: &file, at: time)
            }
        } catch let error as DriveError where error.reason == "fieldNotWritable" {
            server.note(request, "parents", error.message)
            throw error
        }
        return SandboxResponse(
            200,
            json: DriveResource(server: server, account: caller.account).json(file, in: try drive(caller), mask: mask))
    }

    /// Moves the file to a different folder, if requested.
    private func move(
        _ file: inout DriveFile, in drive: Drive, _ request: SandboxRequest, _ metadata: DriveMetadata,
        _ caller: DriveCaller
    ) throws(DriveError) {
        if let parents = metadata.parents, parents != [file.parent] {
            throw DriveError(
                403, "fieldNotWritable",
                "The parents field is not directly writable in update requests. Use the addParents and removeParents parameters instead."
            )
        }
        guard let target = request.query["addParents"] else { return }
        let folder = try caller.folder(target, in: drive)
        var ancestor: DriveFile? = folder
        while let one = ancestor {
            guard one.id != file.id else {
                throw DriveError(403, "cannotAddParent", "A folder cannot be put into itself.")
            }
            ancestor = one.parent.flatMap { drive[$0] }
        }
        let removed = request.query["removeParents"].map { $0 == "root" ? drive.rootID : $0 }
        guard folder.id == file.parent || removed == file.parent else {
            throw DriveError(
                403, "cannotAddParent", "Increasing the number of parents is not allowed", location: "addParents")
        }
        file.parent = folder.id
    }

    private func delete(_ id: String, _ caller: DriveCaller) throws -> SandboxResponse {
        try server.removeFile(id, by: caller)
        return SandboxResponse(204)
    }

    private func emptyTrash(_ caller: DriveCaller) throws -> SandboxResponse {
        for file in try drive(caller).files.values where file.isTrashed && caller.sees(file) {
            try? server.removeFile(file.id, by: caller)
        }
        return SandboxResponse(204)
    }
}
