/// One user's files in the app's folder, which is all that the app can see.
struct DropboxFolder: Sendable {
    let account: String
    private(set) var entries: [String: DropboxEntry] = [:]
    /// IDs by lower-case path.
    private var paths: [String: String] = [:]
    private(set) var usedBytes = 0
    private var nextSequence = 1
    /// Whether a write is in progress: the namespace allows one at a time.
    var isLocked = false

    /// A folder from its stored form.
    init(account: String, entries stored: [DropboxEntry] = []) {
        self.account = account
        for entry in stored.sorted(by: { $0.sequence < $1.sequence }) {
            entries[entry.id] = entry
            paths[entry.pathLower] = entry.id
            usedBytes += entry.size ?? 0
            nextSequence = entry.sequence + 1
        }
    }

    /// The entry that `path` names: a path, an ID or a revision.
    subscript(_ path: String) -> DropboxEntry? {
        if path.hasPrefix("id:") {
            // A path below a folder's ID is also allowed.
            guard let slash = path.firstIndex(of: "/") else { return entries[path] }
            return entries[String(path[..<slash])].flatMap { self[$0.path + path[slash...]] }
        }
        if path.hasPrefix("rev:") { return entries.values.first { "rev:" + $0.revision == path } }
        return paths[path.lowercased()].flatMap { entries[$0] }
    }

    /// The entries below a folder, by path; only its direct members unless `isRecursive`.
    func entries(below folder: String, isRecursive: Bool) -> [DropboxEntry] {
        let prefix = folder.lowercased() + "/"
        return entries.values.filter { entry in
            entry.pathLower.hasPrefix(prefix)
                && (isRecursive || !entry.pathLower.dropFirst(prefix.count).contains("/"))
        }.sorted { $0.pathLower < $1.pathLower }
    }

    /// Adds or replaces an entry.
    /// - Returns: the stored entry.
    @discardableResult
    mutating func put(_ entry: DropboxEntry) -> DropboxEntry {
        var entry = entry
        if let old = entries[entry.id] {
            usedBytes -= old.size ?? 0
            paths[old.pathLower] = nil
        } else {
            entry.sequence = nextSequence
            nextSequence += 1
        }
        usedBytes += entry.size ?? 0
        entries[entry.id] = entry
        paths[entry.pathLower] = entry.id
        return entry
    }

    /// Removes an entry, or a folder with its contents.
    /// - Returns: all removed entries.
    mutating func remove(_ id: String) -> [DropboxEntry] {
        guard let entry = entries[id] else { return [] }
        let gone = [entry] + (entry.isFolder ? entries(below: entry.path, isRecursive: true) : [])
        for one in gone {
            entries[one.id] = nil
            paths[one.pathLower] = nil
            usedBytes -= one.size ?? 0
        }
        return gone
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
