import FoundationEssentials

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
        let found = drive.entries.values.filter { file in
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
        for file in try drive(caller).entries.values where file.isTrashed && caller.sees(file) {
            try? server.removeFile(file.id, by: caller)
        }
        return SandboxResponse(204)
    }
}

/// The caller of a Drive request, and the files that its app may see.
struct DriveCaller {
    let account: Account
    /// The Cloud project of the app.
    let project: String
    /// Whether the user granted the scope for all files.
    let seesAll: Bool
    /// Whether the request declares support for shared drives; without it, files there do not exist.
    let knowsSharedDrives: Bool

    /// The caller that started an upload, used until the upload ends.
    init(account: Account, project: String) {
        self.account = account
        self.project = project
        knowsSharedDrives = false
        seesAll = account.scopes.contains("https://www.googleapis.com/auth/drive")
    }

    /// The caller identified by the request's access token.
    /// - Throws: ``DriveError`` 401 for an invalid or expired token, 403 if no Drive scope was granted.
    init(_ request: SandboxRequest, server: SandboxServer) throws(DriveError) {
        guard let value = request.bearerToken ?? request.query["access_token"] else {
            if request.header("authorization") == nil {
                server.note(request, "no-authorization", "the request has no access token")
                throw DriveError(
                    403, "dailyLimitExceededUnreg",
                    "Daily Limit for Unauthenticated Use Exceeded. Continued use requires signup.",
                    domain: "usageLimits")
            }
            server.note(request, "authorization", "the Authorization header is not a bearer token")
            throw .invalidCredentials
        }
        let now = server.now
        guard let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .google,
            !token.isRevoked, token.expiresAt > now
        else { throw .invalidCredentials }
        let scopes = token.scopes ?? account.scopes
        seesAll = scopes.contains("https://www.googleapis.com/auth/drive")
        guard seesAll || scopes.contains("https://www.googleapis.com/auth/drive.file") else {
            throw DriveError(
                403, "insufficientPermissions", "Request had insufficient authentication scopes.", domain: "global")
        }
        self.account = account
        project = RegisteredApps.project(of: token.audience)
        knowsSharedDrives = request.query["supportsAllDrives"] == "true"
    }

    /// Whether the app may see this file.
    func sees(_ file: DriveFile) -> Bool {
        (file.sharedDrive == nil || knowsSharedDrives) && (seesAll || file.projects.contains(project))
    }

    /// The file with that ID, if the app may see it.
    /// - Throws: ``DriveError/notFound(_:)``, including for files of other apps.
    func file(_ id: String, in drive: Drive) throws(DriveError) -> DriveFile {
        guard let file = drive[id], sees(file) else { throw .notFound(id) }
        return file
    }

    /// The folder in which to create a file.
    /// - Throws: ``DriveError`` if it is not visible or not a folder. The root may always be named.
    func folder(_ id: String?, in drive: Drive) throws(DriveError) -> DriveFile {
        guard let folder = drive[id ?? "root"], folder.id == drive.rootID || sees(folder) else {
            throw .notFound(id ?? "root")
        }
        guard folder.isFolder else {
            throw DriveError(403, "parentNotAFolder", "The specified parent is not a folder.", location: "parents")
        }
        return folder
    }
}

/// An error of the Drive API, in Google's JSON form.
struct DriveError: Error, Equatable {
    let status: Int
    /// The value for programs, e.g. `notFound`.
    let reason: String
    let message: String
    /// `global`, or `usageLimits`.
    let domain: String
    /// The parameter or header at fault.
    let location: String?

    /// An error.
    init(_ status: Int, _ reason: String, _ message: String, domain: String = "global", location: String? = nil) {
        self.status = status
        self.reason = reason
        self.message = message
        self.domain = domain
        self.location = location
    }

    static let invalidCredentials = DriveError(
        401, "authError",
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
        location: "Authorization")
    static let quotaExceeded = DriveError(
        403, "storageQuotaExceeded", "The user's Drive storage quota has been exceeded.", domain: "usageLimits")

    /// The file does not exist or is not visible to this app; Drive does not reveal which.
    static func notFound(_ id: String) -> DriveError {
        DriveError(404, "notFound", "File not found: \(id).", location: "fileId")
    }

    /// A parameter has an invalid value.
    static func invalid(_ name: String, _ message: String = "Invalid Value") -> DriveError {
        DriveError(400, "invalid", message, location: name)
    }

    private var statusName: String? {
        switch status {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 409: "ALREADY_EXISTS"
        case 429: "RESOURCE_EXHAUSTED"
        case 500: "INTERNAL"
        case 503: "UNAVAILABLE"
        default: nil
        }
    }

    /// The response, with the `errors` array unless the sandbox is configured to omit it.
    func response(_ server: SandboxServer? = nil) -> SandboxResponse {
        var one: JSONObject = [
            "message": .string(message), "domain": .string(domain), "reason": .string(reason),
        ]
        one["location"] = .string(location)
        if let location {
            one["locationType"] = location == "Authorization" || location == "Range" ? "header" : "parameter"
        }
        var error: JSONObject = ["code": .int(status), "message": .string(message)]
        if server?.withState({ $0.settings.hasGoogleErrorsArray }) ?? true {
            error["errors"] = .array([.object(one)])
        } else {
            error["details"] = [
                [
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(reason),
                    "domain": "googleapis.com",
                ]
            ]
        }
        error["status"] = .string(statusName)
        var headers: [(name: String, value: String)] = []
        if status == 401 {
            headers.append(
                ("WWW-Authenticate", "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\""))
        }
        return SandboxResponse(status, json: ["error": .object(error)], headers: headers)
    }
}
