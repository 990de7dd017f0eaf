import FoundationEssentials

/// One person's files.
struct NextcloudFiles: Sendable {
    let account: String
    private(set) var entries: [Int: NextcloudEntry] = [:]
    private var paths: [String: Int] = [:]
    private(set) var usedBytes = 0

    init(account: String, entries stored: [NextcloudEntry]) {
        self.account = account
        for entry in stored { put(entry) }
    }

    /// The entry at a path; letter case matters.
    subscript(_ path: String) -> NextcloudEntry? { paths[path].flatMap { entries[$0] } }

    /// The entries in a folder, by path; including those in its subfolders if `isRecursive`.
    func entries(below folder: String, isRecursive: Bool) -> [NextcloudEntry] {
        let prefix = folder + "/"
        return entries.values.filter { entry in
            entry.path.hasPrefix(prefix) && (isRecursive || !entry.path.dropFirst(prefix.count).contains("/"))
        }.sorted { $0.path < $1.path }
    }

    /// Adds or replaces an entry.
    mutating func put(_ entry: NextcloudEntry) {
        if let old = entries[entry.fileID] {
            usedBytes -= old.size ?? 0
            paths[old.path] = nil
        }
        usedBytes += entry.size ?? 0
        entries[entry.fileID] = entry
        paths[entry.path] = entry.fileID
    }

    /// Removes an entry, including the contents of a folder.
    /// - Returns: all removed entries.
    mutating func remove(_ entry: NextcloudEntry) -> [NextcloudEntry] {
        let gone = [entry] + (entry.isFolder ? entries(below: entry.path, isRecursive: true) : [])
        for one in gone {
            entries[one.fileID] = nil
            paths[one.path] = nil
            usedBytes -= one.size ?? 0
        }
        return gone
    }
}

extension SandboxServer {
    /// Makes the bytes the contents of the file at a path, which is created if it is missing.
    /// - Returns: the file, and whether it is new.
    func store(
        _ content: UploadedContent, at path: String, checksum: String?, of account: String,
        modifiedAt: Date? = nil, onlyIf condition: EntityCondition = EntityCondition()
    ) throws -> (entry: NextcloudEntry, isNew: Bool) {
        let time = modifiedAt ?? now
        return try withState { state in
            guard let files = state.nextclouds[account] else { throw NextcloudError.notFound(path) }
            let old = files[path]
            guard old?.isFolder != true else { throw NextcloudError.conflict("there is a folder of that name") }
            try condition.check(old?.entityTag)
            guard files.usedBytes - (old?.size ?? 0) + content.size <= state.accounts[account]?.quotaBytes ?? 0 else {
                throw NextcloudError.insufficientStorage
            }
            var entry = try old ?? newEntry(at: path, of: account, &state, time)
            try directory.move(content.path, to: directory.contentPath(account, entry.object))
            // Nextcloud treats a file as unchanged if its size and the time given by the client are the same.
            if modifiedAt == nil || old?.size != content.size || old?.modifiedAt.unixSeconds != time.unixSeconds {
                entry.entityTag = NextcloudEntry.newEntityTag()
            }
            entry.size = content.size
            entry.checksum = checksum
            entry.modifiedAt = time
            try keep(entry, of: account, &state)
            return (entry, old == nil)
        }
    }

    /// Creates a folder.
    func makeNextcloudFolder(_ path: String, of account: String) throws {
        let time = now
        try withState { state in
            guard state.nextclouds[account]?[path] == nil else { throw NextcloudError.methodNotAllowed }
            try keep(newEntry(at: path, of: account, &state, time), of: account, &state)
        }
    }

    /// Moves a file, or a folder with its contents.
    /// - Returns: the moved entry, and whether it replaced something.
    func move(
        _ path: String, to target: String, overwrites: Bool, of account: String
    ) throws -> (entry: NextcloudEntry, hasReplaced: Bool) {
        try withState { state in
            var (entry, files, hasReplaced) = try replace(target, by: path, overwrites, of: account, &state)
            for var inner in files.entries(below: path, isRecursive: true) where entry.isFolder {
                inner.path = target + inner.path.dropFirst(path.count)
                try keep(inner, of: account, &state)
            }
            entry.path = target
            try keep(entry, of: account, &state)
            return (entry, hasReplaced)
        }
    }

    /// Copies a file, or a folder with its contents.
    /// - Parameter isShallow: whether to copy only the folder itself.
    /// - Returns: the copy, and whether it replaced something.
    func copy(
        _ path: String, to target: String, isShallow: Bool, overwrites: Bool, of account: String
    ) throws -> (entry: NextcloudEntry, hasReplaced: Bool) {
        let time = now
        return try withState { state in
            let (entry, files, hasReplaced) = try replace(target, by: path, overwrites, of: account, &state)
            let originals = [entry] + (isShallow ? [] : files.entries(below: path, isRecursive: true))
            let copiedBytes = originals.reduce(0) { $0 + ($1.size ?? 0) }
            let usedBytes = state.nextclouds[account]?.usedBytes ?? 0
            guard usedBytes + copiedBytes <= state.accounts[account]?.quotaBytes ?? 0 else {
                throw NextcloudError.insufficientStorage
            }
            let copies = try originals.map { original in
                var copy = try newEntry(at: target + original.path.dropFirst(path.count), of: account, &state, time)
                copy.size = original.size
                copy.checksum = original.checksum
                if !copy.isFolder {
                    try directory.copy(
                        directory.contentPath(account, original.object), to: directory.contentPath(account, copy.object)
                    )
                }
                try keep(copy, of: account, &state)
                return copy
            }
            return (copies[0], hasReplaced)
        }
    }

    /// Removes the entry at a path, if the entry at another path may replace it.
    private func replace(
        _ target: String, by path: String, _ overwrites: Bool, of account: String, _ state: inout SandboxState
    ) throws -> (entry: NextcloudEntry, files: NextcloudFiles, hasReplaced: Bool) {
        guard let files = state.nextclouds[account], let entry = files[path] else {
            throw NextcloudError.notFound(path)
        }
        let old = files[target]
        guard old == nil || overwrites else { throw NextcloudError.preconditionFailed("the destination exists") }
        try requirePermittedName(target)
        try requireFolder(above: target, files)
        guard target != path, !target.hasPrefix(path + "/") else { throw NextcloudError.forbidden }
        if let old { remove(old, of: account, &state) }
        return (entry, files, old != nil)
    }

    /// Deletes a file, or a folder with its contents.
    func removeNextcloudEntry(_ path: String, of account: String, onlyIf entityTag: String? = nil) throws {
        try withState { state in
            guard let entry = state.nextclouds[account]?[path] else { throw NextcloudError.notFound(path) }
            guard entityTag == nil || entityTag == entry.entityTag else {
                throw NextcloudError.preconditionFailed("another entity tag")
            }
            remove(entry, of: account, &state)
        }
    }

    private func remove(_ entry: NextcloudEntry, of account: String, _ state: inout SandboxState) {
        for gone in state.nextclouds[account]?.remove(entry) ?? [] {
            directory.remove(directory.metadataPath(account, gone.object))
            directory.remove(directory.contentPath(account, gone.object))
        }
    }

    private func newEntry(
        at path: String, of account: String, _ state: inout SandboxState, _ time: Date
    ) throws -> NextcloudEntry {
        try requirePermittedName(path)
        if let files = state.nextclouds[account] { try requireFolder(above: path, files) }
        state.nextcloudFileID += 1
        return NextcloudEntry(fileID: state.nextcloudFileID, path: path, at: time)
    }

    /// Nextcloud reserves two suffixes (`FilenameValidator`, since version 30; ownCloud has rejected one of them for
    /// longer).
    private func requirePermittedName(_ path: String) throws(NextcloudError) {
        for ending in [".part", ".filepart"] where path.lowercased().hasSuffix(ending) {
            throw .badRequest("\"\(ending)\" is a forbidden file type.")
        }
    }

    private func requireFolder(above path: String, _ files: NextcloudFiles) throws(NextcloudError) {
        let folder = path.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        guard files[folder]?.isFolder == true else { throw .conflict("the parent folder does not exist") }
    }

    private func keep(
        _ entry: NextcloudEntry, of account: String, _ state: inout SandboxState
    ) throws(StorageError) {
        state.nextclouds[account]?.put(entry)
        try directory.write(entry.storedJSON, to: directory.metadataPath(account, entry.object))
    }
}

extension SandboxState {
    /// Restores an account's files from their stored form; a new account gets a root.
    mutating func restoreNextcloud(of account: String, in directory: StateDirectory) throws(StorageError) {
        var stored = try directory.names(in: "accounts/\(account)/metadata", suffix: ".json").compactMap { name in
            directory.readJSON(directory.metadataPath(account, name)).flatMap(NextcloudEntry.init(json:))
        }
        if !stored.contains(where: { $0.path.isEmpty }) {
            nextcloudFileID += 1
            let root = NextcloudEntry(fileID: nextcloudFileID, path: "", at: Date())
            try directory.write(root.storedJSON, to: directory.metadataPath(account, root.object))
            stored.append(root)
        }
        nextcloudFileID = max(nextcloudFileID, stored.map(\.fileID).max() ?? 0)
        nextclouds[account] = NextcloudFiles(account: account, entries: stored)
    }
}

/// The conditions of a request on a file's entity tag (RFC 9110, section 13.1).
struct EntityCondition: Sendable {
    private var match: String?
    private var noneMatch: String?

    init() {}

    init(_ request: SandboxRequest) {
        match = request.header("if-match")
        noneMatch = request.header("if-none-match")
    }

    /// - Parameter tag: the file's entity tag; `nil` if the file does not exist.
    func check(_ tag: String?) throws(NextcloudError) {
        if let match, !Self.names(match, tag) {
            throw .preconditionFailed("An If-Match header was specified, but none of the specified ETags matched.")
        }
        if let noneMatch, Self.names(noneMatch, tag) {
            throw .preconditionFailed(
                "An If-None-Match header was specified, but the ETag matched (or * was specified).")
        }
    }

    private static func names(_ list: String, _ tag: String?) -> Bool {
        guard let tag else { return false }
        return list.split(separator: ",").contains { item in
            let item = item.filter { $0 != " " && $0 != "\"" }
            return item == "*" || item == tag
        }
    }
}

/// A file or folder of a person.
struct NextcloudEntry: Sendable {
    /// `oc:fileid`; unchanged when the entry is moved or its contents change.
    let fileID: Int
    /// The path from the person's root: `/Folder/name.txt`; empty for the root itself.
    var path: String
    /// Size in bytes; `nil` for folders.
    var size: Int?
    /// The client's checksum of the bytes, `MD5:…`, unverified.
    var checksum: String?
    /// Changes with the contents.
    var entityTag: String
    var modifiedAt: Date

    var isFolder: Bool { size == nil }
    var name: String { String(path.split(separator: "/").last ?? "") }
    /// The path of its folder.
    var folder: String { path.isEmpty ? "" : String(path.dropLast(name.count + 1)) }
    /// The name of its file in the state directory.
    var object: String { String(fileID) }

    init(fileID: Int, path: String, at time: Date) {
        self.fileID = fileID
        self.path = path
        modifiedAt = time
        entityTag = Self.newEntityTag()
    }

    /// In the format of PHP's `uniqid`.
    static func newEntityTag() -> String {
        let digits = String(UInt64.random(in: 0..<(1 << 52)), radix: 16)
        return String(repeating: "0", count: 13 - digits.count) + digits
    }

    // MARK: On disk

    var storedJSON: JSONValue {
        var json: JSONObject = [
            "fileID": .int(fileID), "path": .string(path), "entityTag": .string(entityTag),
            "modifiedAt": modifiedAt.json,
        ]
        json["size"] = .int(size)
        json["checksum"] = .string(checksum)
        return .object(json)
    }

    /// An entry from its stored form; `nil` if a member is missing.
    init?(json: JSONValue) {
        guard let fileID = json["fileID"]?.int, let path = json["path"]?.string,
            let entityTag = json["entityTag"]?.string, let modifiedAt = Date(json: json["modifiedAt"])
        else { return nil }
        self.fileID = fileID
        self.path = path
        self.entityTag = entityTag
        self.modifiedAt = modifiedAt
        size = json["size"]?.int
        checksum = json["checksum"]?.string
    }
}
