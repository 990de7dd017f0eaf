import FoundationEssentials

/// Operations on an item or on the location of a new one.
struct GraphItems {
    let server: SandboxServer
    let effect: FaultEffect
    let caller: GraphCaller

    private var account: String { caller.account.id }

    /// Handles a request.
    func respond(to request: SandboxRequest, _ address: GraphAddress) throws -> SandboxResponse {
        switch (request.method, address.action) {
        case ("GET", ""): return try describe(request, try item(address, isReading: true))
        case ("GET", "children"): return try children(request, try item(address, isReading: true))
        case ("POST", "children"): return try makeFolder(request, try item(address, isReading: false))
        case ("GET", "content"): return try download(try item(address, isReading: true))
        case ("PUT", "content"): return try upload(request, address)
        case ("POST", "createUploadSession"):
            return try OneDriveSessions(server: server, effect: effect).create(
                request, try place(request, address), account: account)
        case ("PATCH", ""): return try change(request, try item(address, isReading: false))
        case ("DELETE", ""):
            try delete(try item(address, isReading: false))
            return SandboxResponse(204)
        case ("DELETE", let action) where address.base == .appFolder && action.hasPrefix("items/"):
            // As observed with the real service, everything after `approot` is ignored.
            server.note(request, "approot-delete", "DELETE below special/approot/items deletes the whole folder")
            try delete(try server.appFolder(of: account))
            return SandboxResponse(204)
        default:
            server.note(request, "unknown-route", "the sandbox's Graph has no \(request.method) \(request.path)")
            throw GraphError.invalid("The API is not supported: \(address.action)")
        }
    }

    // MARK: Addresses

    /// The addressed item.
    /// - Parameter isReading: whether to create a missing app folder, as the real service does on reading it.
    private func item(_ address: GraphAddress, isReading: Bool) throws -> OneDriveItem {
        var item = try base(address, isReading: isReading && address.path.isEmpty)
        let drive = try server.oneDrive(of: account)
        for name in address.path {
            guard let child = drive.child(name, of: item.id) else { throw GraphError.notFound }
            item = child
        }
        return item
    }

    private func base(_ address: GraphAddress, isReading: Bool) throws -> OneDriveItem {
        let drive = try server.oneDrive(of: account)
        switch address.base {
        case .root: return try existing(drive.rootID, drive)
        case .item(let id): return try existing(id, drive)
        case .appFolder:
            if let folder = drive.appFolder { return folder }
            if isReading { return try server.appFolder(of: account) }
            throw GraphError.notFound
        }
    }

    private func existing(_ id: String, _ drive: OneDrive) throws(GraphError) -> OneDriveItem {
        guard let item = drive[id] else { throw .notFound }
        return item
    }

    /// The destination of content: a folder and a name, or an item to replace.
    private func place(_ request: SandboxRequest, _ address: GraphAddress) throws -> OneDrivePlace {
        guard let name = address.path.last else {
            let item = try item(address, isReading: false)
            guard !item.isFolder, let parent = item.parent else { throw GraphError.invalid("The item is a folder.") }
            return OneDrivePlace(folder: parent, name: item.name)
        }
        guard address.path.allSatisfy(GraphAddress.isValidName) else {
            server.note(request, "name", "OneDrive does not accept this name: \(name)")
            throw GraphError.invalid("The provided name cannot contain characters that are not allowed")
        }
        if address.base == .appFolder, try server.oneDrive(of: account).appFolder == nil {
            guard !server.withState({ $0.settings.isOneDriveAppFolderStrict }) else { throw GraphError.accessDenied }
            _ = try server.appFolder(of: account)
        }
        var folder = try base(address, isReading: false)
        let time = server.now
        // Missing parent folders are created, as by the real service.
        for segment in address.path.dropLast() {
            let parent = folder.id
            folder = try server.changeOneDrive(of: account) { change in
                try change.drive.child(segment, of: parent) ?? change.makeFolder(segment, in: parent, at: time)
            }
        }
        guard folder.isFolder else { throw GraphError.invalid("The parent is not a folder.") }
        return OneDrivePlace(folder: folder.id, name: name)
    }

    // MARK: Reading

    private func describe(_ request: SandboxRequest, _ item: OneDriveItem) throws -> SandboxResponse {
        let select = (request.query["$select"] ?? request.query["select"]).map {
            Set($0.split(separator: ",").map { String($0) })
        }
        let isURLWanted = !item.isFolder && select?.contains("@microsoft.graph.downloadUrl") != false
        let url = isURLWanted ? OneDriveDownloads(server: server).newAddress(of: item.id, account: account) : nil
        let drive = try server.oneDrive(of: account)
        return SandboxResponse(
            200, json: OneDriveResource(server: server, drive: drive).json(item, select: select, downloadURL: url))
    }

    private func children(_ request: SandboxRequest, _ folder: OneDriveItem) throws -> SandboxResponse {
        let drive = try server.oneDrive(of: account)
        let all = drive.children(of: folder.id)
        let size = request.query["$top"].flatMap { Int($0) }.map { min(max(1, $0), 1_000) } ?? 200
        let offset = request.query["$skiptoken"].flatMap { Int($0) } ?? 0
        let resource = OneDriveResource(server: server, drive: drive)
        let page = all.dropFirst(offset).prefix(size)
        var json: JSONObject = ["@odata.count": .int(all.count), "value": .array(page.map { resource.json($0) })]
        if offset + page.count < all.count {
            json["@odata.nextLink"] = .string(
                "https://graph.microsoft.com\(request.path)?$top=\(size)&$skiptoken=\(offset + page.count)")
        }
        return SandboxResponse(200, json: .object(json))
    }

    private func download(_ item: OneDriveItem) throws -> SandboxResponse {
        guard !item.isFolder else { throw GraphError.invalid("A folder has no content.") }
        return SandboxResponse(
            302, headers: [("Location", OneDriveDownloads(server: server).newAddress(of: item.id, account: account))])
    }

    // MARK: Changes

    private func upload(_ request: SandboxRequest, _ address: GraphAddress) throws -> SandboxResponse {
        let place = try place(request, address)
        let conflict = try conflict(request.query["@microsoft.graph.conflictBehavior"], default: .replace)
        guard let length = request.body.declaredLength else {
            throw GraphError(411, "lengthRequired", "Content-Length is required")
        }
        guard length <= 250 << 20 else {
            server.note(request, "simple-upload-size", "more than 250 MB require an upload session")
            throw GraphError(413, "requestTooLarge", "The request is too large.")
        }
        let content = try server.directory.receive(request, .quickXor)
        let time = server.now
        do {
            let stored = try server.changeOneDrive(of: account) { change in
                try change.store(content, as: place.name, in: place.folder, conflict: conflict, at: time)
            }
            let drive = try server.oneDrive(of: account)
            return SandboxResponse(
                stored.isNew ? 201 : 200, json: OneDriveResource(server: server, drive: drive).json(stored.item))
        } catch {
            server.directory.remove(content.path)
            throw error
        }
    }

    private func conflict(_ text: String?, default standard: NameConflict) throws(GraphError) -> NameConflict {
        guard let text else { return standard }
        guard let conflict = NameConflict(rawValue: text) else {
            throw .invalid("Invalid value for @microsoft.graph.conflictBehavior")
        }
        return conflict
    }

    private func makeFolder(_ request: SandboxRequest, _ parent: OneDriveItem) throws -> SandboxResponse {
        let json = try body(request)
        guard let name = json["name"]?.string, json["folder"]?.object != nil else {
            throw GraphError.invalid("A folder needs a name and the member folder")
        }
        guard GraphAddress.isValidName(name) else {
            server.note(request, "name", "OneDrive does not accept this name: \(name)")
            throw GraphError.invalid("The provided name cannot contain characters that are not allowed")
        }
        let conflict = try conflict(json["@microsoft.graph.conflictBehavior"]?.string, default: .fail)
        let time = server.now
        let folder = try server.changeOneDrive(of: account) { change in
            var name = name
            if let existing = change.drive.child(name, of: parent.id) {
                switch conflict {
                case .fail: throw GraphError.nameTaken
                case .replace: return existing
                case .rename: name = change.drive.freeName(like: name, in: parent.id)
                }
            }
            return try change.makeFolder(name, in: parent.id, at: time)
        }
        let drive = try server.oneDrive(of: account)
        return SandboxResponse(201, json: OneDriveResource(server: server, drive: drive).json(folder))
    }

    private func change(_ request: SandboxRequest, _ item: OneDriveItem) throws -> SandboxResponse {
        let json = try body(request)
        let time = server.now
        if let wanted = request.header("if-match"), wanted != item.eTag, wanted != "*" {
            throw GraphError(412, "resourceModified", "ETag does not match current item's value")
        }
        if let name = json["name"]?.string, !GraphAddress.isValidName(name) {
            server.note(request, "name", "OneDrive does not accept this name: \(name)")
            throw GraphError.invalid("The provided name cannot contain characters that are not allowed")
        }
        let changed = try server.changeOneDrive(of: account) { change in
            guard var item = change.drive[item.id], item.parent != nil else { throw GraphError.notFound }
            let name = json["name"]?.string ?? item.name
            let parent = json["parentReference"]?["id"]?.string ?? item.parent ?? ""
            guard change.drive[parent]?.isFolder == true else { throw GraphError.notFound }
            if let other = change.drive.child(name, of: parent), other.id != item.id { throw GraphError.nameTaken }
            item.name = name
            item.parent = parent
            if let text = json["fileSystemInfo"]?["lastModifiedDateTime"]?.string, let date = Date(text: text) {
                item.modifiedAt = date
            } else {
                item.modifiedAt = time
            }
            return try change.keep(item)
        }
        let drive = try server.oneDrive(of: account)
        return SandboxResponse(200, json: OneDriveResource(server: server, drive: drive).json(changed))
    }

    private func delete(_ item: OneDriveItem) throws {
        guard item.parent != nil else { throw GraphError.accessDenied }
        try server.changeOneDrive(of: account) { change in change.remove(item.id) }
    }

    private func body(_ request: SandboxRequest) throws -> JSONValue {
        guard request.mediaType == "application/json",
            let json = try? JSONValue(parsing: try request.body.readAll(limit: 1 << 20)), json.object != nil
        else {
            server.note(request, "json-body", "the body is not a JSON object, or its Content-Type is not JSON")
            throw GraphError.invalid("Entity only allows writes with a JSON Content-Type header.")
        }
        return json
    }
}

/// A folder, and a name in it.
struct OneDrivePlace: Sendable {
    let folder: String
    let name: String
}

/// Temporary addresses from which an item's bytes can be downloaded without a token.
struct OneDriveDownloads {
    /// Lifetime of an address, in seconds: about an hour.
    static let lifeSeconds = 3_600.0
    private static let mostAddresses = 20_000
    let server: SandboxServer

    /// The download that an address authorizes.
    struct Grant: Sendable {
        let account: String
        let item: String
        let expiresAt: Date
    }

    /// A new address for an item.
    func newAddress(of item: String, account: String) -> String {
        let key = RandomText.token(60)
        let time = server.now
        server.withState { state in
            if state.oneDriveDownloads.count >= Self.mostAddresses {
                state.oneDriveDownloads = state.oneDriveDownloads.filter { $0.value.expiresAt > time }
                if state.oneDriveDownloads.count >= Self.mostAddresses { state.oneDriveDownloads.removeAll() }
            }
            state.oneDriveDownloads[key] = Grant(
                account: account, item: item, expiresAt: time.addingTimeInterval(Self.lifeSeconds))
        }
        return "https://\(OneDriveContentHost.name)/personal/\(item.prefix { $0 != "!" })/_layouts/15/download.aspx"
            + "?UniqueId=\(PercentEncoding.encode(item))&Translate=false&tempauth=\(key)"
    }

    /// Handles a request for bytes.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        guard request.method == "GET" || request.method == "HEAD" else {
            throw GraphError(405, "methodNotAllowed", "A download's address supports only GET.")
        }
        let time = server.now
        let grant = request.query["tempauth"].flatMap { key in server.withState { $0.oneDriveDownloads[key] } }
        guard let grant, grant.expiresAt > time else {
            throw GraphError(401, "unauthenticated", "The link has expired.")
        }
        guard let item = try server.oneDrive(of: grant.account)[grant.item], !item.isFolder else {
            throw GraphError.notFound
        }
        let size = server.breaks.contains(.dropLastByte) ? max(0, item.size - 1) : item.size
        let path = server.directory.contentPath(grant.account, item.id)
        var headers: [(name: String, value: String)] = [
            ("Content-Type", item.mimeType), ("Accept-Ranges", "bytes"), ("ETag", item.eTag),
            ("Cache-Control", "private"),
        ]
        switch ByteRange(request.header("range"), length: size) {
        case .whole: return SandboxResponse(200, headers: headers, file: path, offset: 0, count: size)
        case .part(let first, let last):
            headers.append(("Content-Range", "bytes \(first)-\(last)/\(size)"))
            return SandboxResponse(206, headers: headers, file: path, offset: first, count: last - first + 1)
        case .unsatisfiable:
            var response = GraphError(416, "invalidRange", "Range not satisfiable").response(at: time)
            response.headers.append(("Content-Range", "bytes */\(size)"))
            return response
        }
    }
}

/// The host for uploading and downloading bytes. A client that sends it a token discloses a secret to the wrong host.
struct OneDriveContentHost {
    static let name = "my.microsoftpersonalcontent.com"
    let server: SandboxServer
    let effect: FaultEffect

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            guard request.header("authorization") == nil else {
                server.note(request, "authorization", "a token was sent to an address that is itself the authorization")
                throw GraphError(401, "unauthenticated", "The caller is not authenticated.")
            }
            if request.path.hasSuffix("/download.aspx") {
                return try OneDriveDownloads(server: server).respond(to: request)
            }
            if request.path.hasSuffix("/uploadSession") {
                return try OneDriveSessions(server: server, effect: effect).respond(to: request)
            }
            server.note(request, "unknown-route", "the sandbox has no \(request.path) at \(request.host)")
            throw GraphError.notFound
        } catch let error as GraphError {
            return error.response(at: server.now)
        }
    }
}
