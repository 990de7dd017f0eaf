import FoundationEssentials

/// One user's files in the app's folder, which is all that the app can see; letter case is ignored.
typealias DropboxFolder = FileTree<DropboxEntry>

extension DropboxFolder {
    /// The entry that `path` names: a path, an ID or a revision.
    subscript(_ path: String) -> DropboxEntry? {
        if path.hasPrefix("id:") {
            // A path below a folder's ID is also allowed.
            guard let slash = path.firstIndex(of: "/") else { return entries[path] }
            return entries[String(path[..<slash])].flatMap { self[$0.path + path[slash...]] }
        }
        if path.hasPrefix("rev:") { return entries.values.first { "rev:" + $0.revision == path } }
        return entry(at: path.lowercased())
    }

    /// The first free name like `path`: `/name (1).txt`.
    func free(_ path: String) -> String {
        let name = String(path.split(separator: "/").last ?? "")
        let folder = path.dropLast(name.count)
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        var number = 1
        while true {
            let candidate = folder + name[..<dot] + " (\(number))" + name[dot...]
            if self[String(candidate)] == nil { return String(candidate) }
            number += 1
        }
    }
}

/// A file or folder in the app's folder.
struct DropboxEntry: PathEntry {
    /// `id:` and 22 characters; unchanged when the entry is moved or its contents change.
    let id: String
    /// With the original letter case.
    var path: String
    var size: Int?
    /// Dropbox's content hash in lower-case hexadecimal; `nil` for folders.
    var contentHash: String?
    /// Changes with the contents.
    var revision = ""
    var clientModifiedAt: Date
    var serverModifiedAt: Date
    /// Order of creation within the account.
    var sequence = 0

    /// The path in lower case, since letter case is ignored in comparisons.
    var address: String { path.lowercased() }
    var checksum: String? { contentHash }
    var modifiedAt: Date { serverModifiedAt }

    /// A new entry.
    init(path: String, at time: Date) {
        id = "id:" + RandomText.token(22)
        self.path = path
        clientModifiedAt = time
        serverModifiedAt = time
    }

    /// The entry as shown by the API: `FileMetadata` or `FolderMetadata`.
    func metadata(isTagged: Bool = true) -> JSONObject {
        var json: JSONObject = [:]
        if isTagged { json[".tag"] = isFolder ? "folder" : "file" }
        json["name"] = .string(name)
        json["path_lower"] = .string(address)
        json["path_display"] = .string(path)
        json["id"] = .string(id)
        guard let size else { return json }
        json["client_modified"] = .string(Self.seconds(clientModifiedAt))
        json["server_modified"] = .string(Self.seconds(serverModifiedAt))
        json["rev"] = .string(revision)
        json["size"] = .int(size)
        json["is_downloadable"] = true
        json["content_hash"] = .string(contentHash)
        return json
    }

    /// A revision in Dropbox's format: at least nine hexadecimal digits.
    static func newRevision() -> String {
        let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func seconds(_ date: Date) -> String { date.formatted(Date.ISO8601FormatStyle()) }

}

/// How to write a file (`CommitInfo`).
struct DropboxCommit: Sendable {
    enum Mode: Sendable, Equatable {
        case add, overwrite
        /// Replace only this revision.
        case update(revision: String)
    }

    let path: String
    var mode: Mode = .add
    var isRenamedOnConflict = false
    /// Whether even identical contents are a conflict.
    var isStrict = false
    var clientModifiedAt: Date?
}

extension SandboxServer {
    /// Claims an account's namespace for a write; of two concurrent writes, one must retry.
    /// - Throws: `busy`.
    func withDropboxLock<Result>(
        _ account: String, orThrow busy: DropboxError, _ body: () throws -> Result
    ) throws -> Result {
        let (isClaimed, milliseconds) = withState { state in
            let isFree = state.dropboxes[account] != nil && state.lockedDropboxes.insert(account).inserted
            return (isFree, state.settings.dropboxWriteMilliseconds)
        }
        guard isClaimed else { throw busy }
        defer { _ = withState { $0.lockedDropboxes.remove(account) } }
        if milliseconds > 0 { pause(milliseconds) }
        return try body()
    }

    /// Stores content at its path, following the conflict rules of `WriteMode`.
    ///
    /// Equal contents at the path count as written, and nothing changes; otherwise a file that is replaced keeps its
    /// ID.
    /// - Parameter inUpload: how the route wraps its errors.
    func commit(
        _ commit: DropboxCommit, _ content: UploadedContent, to account: String, inUpload: Bool
    ) throws -> DropboxEntry {
        func failure(_ reason: [DropboxError.Tag]) -> DropboxError { .path(reason, inUpload: inUpload) }
        if let reason = Self.objection(to: commit.path) { throw failure([reason]) }
        let time = now
        return try withState { state in
            guard let folder = state.dropboxes[account] else { throw DropboxError.internalError }
            var path = commit.path
            let existing = folder[path]
            if let existing {
                if existing.contentHash == content.checksum, !commit.isStrict {
                    directory.remove(content.path)
                    return existing
                }
                let mayReplace =
                    switch commit.mode {
                    case .add: false
                    case .overwrite: !existing.isFolder
                    case .update(let revision): !existing.isFolder && existing.revision == revision
                    }
                if !mayReplace {
                    guard commit.isRenamedOnConflict else {
                        throw failure(["conflict", existing.isFolder ? "folder" : "file"])
                    }
                    path = folder.free(path)
                }
            }
            var entry = existing.flatMap { path == commit.path ? $0 : nil } ?? DropboxEntry(path: path, at: time)
            guard folder.usedBytes - (entry.size ?? 0) + content.size <= state.accounts[account]?.quotaBytes ?? 0 else {
                throw failure(["insufficient_space"])
            }
            try makeFolders(above: path, in: account, &state, failure(["conflict", "file_ancestor"]), at: time)
            try directory.move(content.path, to: directory.contentPath(account, entry.id))
            entry.size = content.size
            entry.contentHash = content.checksum
            entry.revision = DropboxEntry.newRevision()
            entry.serverModifiedAt = time
            entry.clientModifiedAt = commit.clientModifiedAt ?? time
            return try keep(entry, in: account, &state)
        }
    }

    /// Creates the parent folders of a path.
    func makeFolders(
        above path: String, in account: String, _ state: inout SandboxState, _ failure: DropboxError, at time: Date
    ) throws {
        var folder = ""
        for name in path.split(separator: "/").dropLast() {
            folder += "/" + name
            guard let existing = state.dropboxes[account]?[folder] else {
                _ = try keep(DropboxEntry(path: folder, at: time), in: account, &state)
                continue
            }
            guard existing.isFolder else { throw failure }
        }
    }

    /// Stores an entry in memory and on disk.
    func keep(
        _ entry: DropboxEntry, in account: String, _ state: inout SandboxState
    ) throws(StorageError) -> DropboxEntry {
        var entry = entry
        if state.dropboxes[account]?.entries[entry.id] == nil {
            entry.sequence = state.dropboxes[account]?.nextSequence ?? 0
        }
        try state.dropboxes[account]?.keep(entry, in: directory)
        return entry
    }

    /// Removes an entry, including the contents of a folder.
    func removeDropboxEntry(_ id: String, of account: String) {
        withState { $0.dropboxes[account]?.delete(id, in: directory) }
    }

    /// The reason why a path cannot be written; `nil` if it can.
    static func objection(to path: String) -> DropboxError.Tag? {
        guard path.hasPrefix("/"), path.count > 1 else { return "malformed_path" }
        for name in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            // "Files not syncing", and observations of rclone's authors.
            if name.isEmpty || name.utf8.count > 255 || name.hasSuffix(" ") || name.contains("\u{7F}") {
                return "malformed_path"
            }
            if name.contains("\\") { return "malformed_path" }
            if name == "." || name == ".." { return "disallowed_name" }
        }
        return nil
    }
}
