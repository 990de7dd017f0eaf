internal import FoundationEssentials

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
    /// Whether even equal contents are a conflict.
    var isStrict = false
    var clientModifiedAt: Date?
}

/// Uploaded bytes, not yet a file's content.
struct DropboxContent: Sendable {
    /// Their current location.
    let file: String
    let size: Int
    let contentHash: String
}

extension SandboxServer {
    /// Claims an account's namespace for a write; of two concurrent writes, one must retry.
    /// - Throws: `busy`.
    func withDropboxLock<Result>(
        _ account: String, orThrow busy: DropboxError, _ body: () throws -> Result
    ) throws -> Result {
        let (isClaimed, milliseconds) = withState { state in
            let isFree = state.dropboxes[account]?.isLocked == false
            if isFree { state.dropboxes[account]?.isLocked = true }
            return (isFree, state.settings.dropboxWriteMilliseconds)
        }
        guard isClaimed else { throw busy }
        defer { withState { $0.dropboxes[account]?.isLocked = false } }
        if milliseconds > 0 { pause(milliseconds) }
        return try body()
    }

    /// Stores content at its path, following the conflict rules of `WriteMode`.
    ///
    /// Equal contents at the path count as written, and nothing changes; otherwise a file that is replaced keeps its
    /// ID.
    /// - Parameter inUpload: how the route wraps its errors.
    func commit(
        _ commit: DropboxCommit, _ content: DropboxContent, to account: String, inUpload: Bool
    ) throws -> DropboxEntry {
        func failure(_ reason: [DropboxError.Tag]) -> DropboxError { .path(reason, inUpload: inUpload) }
        if let reason = Self.objection(to: commit.path) { throw failure([reason]) }
        let time = now
        return try withState { state in
            guard let folder = state.dropboxes[account] else { throw DropboxError.internalError }
            var path = commit.path
            let existing = folder[path]
            if let existing {
                if existing.contentHash == content.contentHash, !commit.isStrict {
                    directory.remove(content.file)
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
            try directory.move(content.file, to: directory.contentPath(account, entry.id))
            entry.size = content.size
            entry.contentHash = content.contentHash
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
        let kept = state.dropboxes[account]?.put(entry) ?? entry
        try directory.write(kept.storedJSON, to: directory.metadataPath(account, kept.id))
        return kept
    }

    /// Removes an entry, including the contents of a folder.
    func removeDropboxEntry(_ id: String, of account: String) {
        withState { state in
            for gone in state.dropboxes[account]?.remove(id) ?? [] {
                directory.remove(directory.metadataPath(account, gone.id))
                directory.remove(directory.contentPath(account, gone.id))
            }
        }
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

extension SandboxState {
    /// The entries of an account's folder from their stored form.
    static func entries(of account: String, in directory: StateDirectory) throws(StorageError) -> [DropboxEntry] {
        try directory.names(in: "accounts/\(account)/metadata", suffix: ".json").compactMap { name in
            directory.readJSON(directory.metadataPath(account, name)).flatMap(DropboxEntry.init(json:))
        }
    }
}
