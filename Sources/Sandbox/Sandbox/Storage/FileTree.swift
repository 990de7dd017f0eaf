internal import FoundationEssentials

/// A file or folder in an emulated storage, as it is kept on disk.
protocol FileEntry: Codable, Sendable {
    /// The name of its content in the state directory; unchanged when the entry is moved or its content changes.
    var id: String { get }
    /// What the members of this folder name as their parent, unique among the entries of a person: the ID, or the path
    /// at providers that find entries by path.
    var address: String { get }
    /// The address of the folder that contains it; `nil` for the root.
    var parent: String? { get }
    var name: String { get }
    /// The path of its folder from the root, without a slash at either end; `nil` if the entry does not know it.
    var folder: String? { get }
    var isFolder: Bool { get }
    /// The size of its content; 0 for folders.
    var byteCount: Int { get }
    /// The checksum that the provider reports, for files.
    var checksum: String? { get }
    var mimeType: String { get }
    /// When its content last changed, as the provider reports it.
    var modifiedAt: Date { get }
    /// Whether the entry itself was moved to the trash; an entry inside a trashed folder is also in the trash.
    var isTrashed: Bool { get }
    /// Order of creation within the account.
    var sequence: Int { get }
}

extension FileEntry {
    var address: String { id }
    var folder: String? { nil }
    var isTrashed: Bool { false }
}

/// An entry of a provider that finds entries by path.
protocol PathEntry: FileEntry {
    /// The path from the person's root: `/Folder/name.txt`; empty for the root itself.
    var path: String { get set }
    /// Size in bytes; `nil` for folders.
    var size: Int? { get }
}

extension PathEntry {
    var parent: String? { address.lastIndex(of: "/").map { String(address[..<$0]) } }
    var name: String { path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? "" }
    var folder: String? { String(path.dropLast(name.count + 1).dropFirst()) }
    var isFolder: Bool { size == nil }
    var byteCount: Int { size ?? 0 }
    /// Such providers store no media type.
    var mimeType: String { MediaType.guess(name) }
}

/// All files and folders of one person at one provider.
struct FileTree<Entry: FileEntry>: Sendable {
    let account: String
    /// The ID of the root; empty if the provider has no entry for it.
    let rootID: String
    /// By ID.
    private(set) var entries: [String: Entry] = [:]
    /// IDs by address.
    private var ids: [String: String] = [:]
    /// IDs of permanently deleted entries, which are never reused.
    private(set) var deletedIDs: Set<String> = []
    private(set) var usedBytes = 0
    /// The ``FileEntry/sequence`` of the next new entry.
    private(set) var nextSequence = 1

    /// Restores the entries of an account; if no root is stored, `makeRoot` creates it.
    init(
        of account: String, in directory: StateDirectory, makeRoot: () -> Entry? = { nil }
    ) throws(StorageError) {
        var stored = try directory.names(in: "accounts/\(account)/metadata", suffix: ".json").compactMap {
            directory.read(Entry.self, directory.metadataPath(account, $0))
        }
        if !stored.contains(where: { $0.parent == nil }), let root = makeRoot() {
            try directory.write(entry: root, to: directory.metadataPath(account, root.id))
            stored.append(root)
        }
        self.account = account
        rootID = stored.first { $0.parent == nil }?.id ?? ""
        for entry in stored { put(entry) }
    }

    /// All entries except folders, in order of creation.
    var files: [Entry] { entries.values.filter { !$0.isFolder }.sorted { $0.sequence < $1.sequence } }

    /// The entry with that address.
    func entry(at address: String) -> Entry? { ids[address].flatMap { entries[$0] } }

    /// The members of a folder, by address; including those of its subfolders if `isRecursive`.
    func entries(below folder: String, isRecursive: Bool) -> [Entry] {
        var found = entries.values.filter { $0.parent == folder }
        if isRecursive {
            found += found.filter(\.isFolder).flatMap { entries(below: $0.address, isRecursive: true) }
        }
        return found.sorted { $0.address < $1.address }
    }

    /// The path of an entry's folder from the root, without a slash at either end.
    func folderPath(of entry: Entry) -> String {
        entry.folder ?? ancestors(of: entry).reversed().map(\.name).joined(separator: "/")
    }

    /// Whether the entry or a folder above it is in the trash.
    func isTrashed(_ entry: Entry) -> Bool { entry.isTrashed || ancestors(of: entry).contains(where: \.isTrashed) }

    /// The folders that contain an entry except the root, from the inside outwards.
    private func ancestors(of entry: Entry) -> [Entry] {
        var found: [Entry] = []
        var current = entry
        while let parent = current.parent, let folder = self.entry(at: parent), folder.parent != nil {
            found.append(folder)
            current = folder
        }
        return found
    }

    /// Adds or replaces an entry, in memory and on disk.
    mutating func keep(_ entry: Entry, in directory: StateDirectory) throws(StorageError) {
        put(entry)
        try directory.write(entry: entry, to: directory.metadataPath(account, entry.id))
    }

    private mutating func put(_ entry: Entry) {
        if let old = entries.updateValue(entry, forKey: entry.id) {
            usedBytes -= old.byteCount
            ids[old.address] = nil
        }
        usedBytes += entry.byteCount
        ids[entry.address] = entry.id
        nextSequence = max(nextSequence, entry.sequence + 1)
    }

    /// Deletes an entry, including the contents of a folder.
    mutating func delete(_ id: String, in directory: StateDirectory) {
        guard let entry = entries[id] else { return }
        for gone in [entry] + (entry.isFolder ? entries(below: entry.address, isRecursive: true) : []) {
            entries[gone.id] = nil
            ids[gone.address] = nil
            usedBytes -= gone.byteCount
            deletedIDs.insert(gone.id)
            directory.remove(directory.metadataPath(account, gone.id))
            directory.remove(directory.contentPath(account, gone.id))
        }
    }
}
