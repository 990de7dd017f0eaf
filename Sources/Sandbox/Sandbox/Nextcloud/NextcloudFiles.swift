import FoundationEssentials

/// One person's files.
typealias NextcloudFiles = FileTree<NextcloudEntry>

extension NextcloudFiles {
    /// The entry at a path; letter case matters.
    subscript(_ path: String) -> NextcloudEntry? { entry(at: path) }
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
            try directory.move(content.path, to: directory.contentPath(account, entry.id))
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
                        directory.contentPath(account, original.id), to: directory.contentPath(account, copy.id)
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
        state.nextclouds[account]?.delete(entry.id, in: directory)
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
        try state.nextclouds[account]?.keep(entry, in: directory)
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
struct NextcloudEntry: PathEntry {
    /// `oc:fileid`; unchanged when the entry is moved or its contents change.
    let fileID: Int
    var path: String
    var size: Int?
    /// The client's checksum of the bytes, `MD5:…`, unverified.
    var checksum: String?
    /// Changes with the contents.
    var entityTag: String
    var modifiedAt: Date

    var id: String { String(fileID) }
    var address: String { path }
    var sequence: Int { fileID }

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

}
