import Foundation
package import SyncProtocol

/// The record of a directory, in memory and, updated with each change, in an SQLite file.
///
/// Not `Sendable`: it belongs to one ``DirectoryKeeper``.
package final class DirectoryRecord {
    private let store: RecordStore
    private let ignoresCase: Bool
    private var files: [FileUUID: RecordedFile] = [:]
    private var byPath: [PathKey: FileUUID] = [:]
    /// The number of recorded files below each folder.
    private var folders: [PathKey: Int] = [:]
    /// Files that were moved away and are still monitored, by name.
    package private(set) var displaced: [String: DisplacedFile] = [:]
    /// Changes that the library has and the server does not have yet, by file.
    package private(set) var handedOver: [FileUUID: HandedOver] = [:]
    /// The files that are skipped because another file has the same path in another spelling, keyed by their bytes.
    private var twins: [[UInt8]: (path: RelativePath, signature: FileSignature)] = [:]

    /// Loads the stored record.
    /// - Parameter ignoresCase: whether names that differ only in letter case are the same name.
    package init(_ store: RecordStore, ignoresCase: Bool) throws(RecordError) {
        self.store = store
        self.ignoresCase = ignoresCase
        try load()
    }

    private func load() throws(RecordError) {
        files = Dictionary(uniqueKeysWithValues: try store.files().map { ($0.fileUUID, $0) })
        displaced = Dictionary(uniqueKeysWithValues: try store.displaced().map { ($0.name, $0) })
        handedOver = Dictionary(uniqueKeysWithValues: try store.handedOver().map { ($0.fileUUID, $0) })
        twins = Dictionary(uniqueKeysWithValues: try store.twins().map { (Array($0.path.text.utf8), $0) })
        (byPath, folders) = ([:], [:])
        for file in files.values { index(file) }
    }

    /// Makes the changes that `body` makes one transaction, which is much faster than one for each: all of them are
    /// recorded, or none. `body` must only change the record, and read no settings.
    package func together<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try store.together(body) } catch {
            try load()
            throw error
        }
    }

    /// The files that meet a condition, in an order that is stable across launches.
    package func files(where isWanted: (RecordedFile) -> Bool) -> [RecordedFile] {
        files.values.filter(isWanted).sorted { $0.fileUUID.precedes($1.fileUUID) }
    }

    /// Whether any file meets a condition.
    package func contains(where isWanted: (RecordedFile) -> Bool) -> Bool { files.values.contains(where: isWanted) }

    /// The number of files, including those whose deletion is pending.
    package var count: Int { files.count }

    /// The number of files without a pending deletion.
    package var presentCount: Int { files.values.count { !$0.pending.contains(.deletion) } }

    /// One file.
    package subscript(uuid: FileUUID) -> RecordedFile? { files[uuid] }

    /// The file at a path; a file with a pending deletion has no path.
    package func file(at path: RelativePath) -> RecordedFile? { byPath[key(path)].flatMap { files[$0] } }

    /// Whether files are recorded below a path.
    package func hasFiles(below path: RelativePath) -> Bool { folders[key(path)] != nil }

    /// The file that exists where a path needs a folder.
    package func fileOnTheWay(to path: RelativePath) -> RecordedFile? {
        path.ancestors.lazy.compactMap { self.file(at: $0) }.first
    }

    /// Adds or changes a file.
    package func save(_ file: RecordedFile) throws(RecordError) {
        if let old = files[file.fileUUID] {
            if old == file, old.path.isSpelled(like: file.path) { return }
            unindex(old)
        }
        files[file.fileUUID] = file
        index(file)
        try store.save(file)
    }

    /// Removes a file from the record.
    package func remove(_ uuid: FileUUID) throws(RecordError) {
        guard let file = files.removeValue(forKey: uuid) else { return }
        unindex(file)
        try store.remove(uuid)
    }

    /// Records a file that is about to be displaced.
    package func save(_ file: DisplacedFile) throws(RecordError) {
        displaced[file.name] = file
        try store.save(file)
    }

    /// Removes a displaced file from the record.
    package func removeDisplaced(_ name: String) throws(RecordError) {
        displaced[name] = nil
        try store.removeDisplaced(name)
    }

    /// Records a change that the library has.
    func save(_ row: HandedOver) throws(RecordError) {
        handedOver[row.fileUUID] = row
        try store.save(row)
    }

    /// Removes the record of a change that the library had.
    func removeHandedOver(_ uuid: FileUUID) throws(RecordError) {
        guard handedOver.removeValue(forKey: uuid) != nil else { return }
        try store.removeHandedOver(uuid)
    }

    /// Why nothing can be sent at all, for people; nil without a known obstacle.
    package var obstacle: String? {
        get throws(RecordError) { try store.setting(Self.obstacleSetting).flatMap { $0.isEmpty ? nil : $0 } }
    }

    /// Records why nothing can be sent, or with nil that no obstacle is known.
    package func note(obstacle: String?) throws(RecordError) {
        guard try self.obstacle != obstacle else { return }
        try store.set(Self.obstacleSetting, to: obstacle ?? "")
    }

    private static let obstacleSetting = "obstacle"

    /// Whether the file with exactly this spelling is a known twin, and has not been written since.
    func isTwin(_ path: RelativePath, _ signature: FileSignature) -> Bool {
        twins[Array(path.text.utf8)]?.signature.contentsIdentity == signature.contentsIdentity
    }

    /// Whether exactly this spelling is that of a twin.
    func isTwin(_ path: RelativePath) -> Bool { twins[Array(path.text.utf8)] != nil }

    /// Replaces the known twins.
    func setTwins(_ found: [(path: RelativePath, signature: FileSignature)]) throws(RecordError) {
        let new = Dictionary(found.map { (Array($0.path.text.utf8), $0) }, uniquingKeysWith: { $1 })
        for (key, twin) in twins where new[key] == nil { try store.removeTwin(twin.path) }
        for (key, twin) in new where twins[key]?.signature != twin.signature {
            try store.saveTwin(twin.path, twin.signature)
        }
        twins = new
    }

    /// Records a conflict.
    package func add(_ conflict: DirectoryConflict) throws(RecordError) { try store.add(conflict) }

    /// The conflicts so far, oldest first.
    package func conflicts() throws(RecordError) -> [DirectoryConflict] { try store.conflicts() }

    private func key(_ path: RelativePath) -> PathKey { PathKey(path, ignoresCase: ignoresCase) }

    private func index(_ file: RecordedFile) {
        guard !file.pending.contains(.deletion) else { return }
        byPath[key(file.path)] = file.fileUUID
        for folder in file.path.ancestors { folders[key(folder), default: 0] += 1 }
    }

    private func unindex(_ file: RecordedFile) {
        guard !file.pending.contains(.deletion) else { return }
        if byPath[key(file.path)] == file.fileUUID { byPath[key(file.path)] = nil }
        for folder in file.path.ancestors {
            let count = (folders[key(folder)] ?? 1) - 1
            folders[key(folder)] = count > 0 ? count : nil
        }
    }
}

extension FileUUID {
    /// An order of files that all devices agree on, regardless of the letter case that they use.
    func precedes(_ other: FileUUID) -> Bool { rawValue.uppercased() < other.rawValue.uppercased() }
}

/// The last known state of a synchronized file.
package struct RecordedFile: Sendable, Hashable {
    /// The changes that the library does not have yet.
    package struct Pending: OptionSet, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// New contents.
        package static let contents = Self(rawValue: 1)
        /// A new path.
        package static let path = Self(rawValue: 2)
        /// The file was deleted locally.
        package static let deletion = Self(rawValue: 4)
    }

    /// Work that was passed to the library, and then dropped in favour of a change by others that is not delivered yet.
    package struct Conflict: OptionSet, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// The local contents, which must survive the delivery.
        package static let contents = Self(rawValue: 1)
        /// The path.
        package static let path = Self(rawValue: 2)
    }

    /// The file.
    package let fileUUID: FileUUID
    /// Its path, in the disk's spelling.
    package var path: RelativePath
    /// The file's signature when its contents were read; nil if they must be read again before they are trusted.
    package var signature: FileSignature?
    /// The contents that were last seen here.
    package var digest: ContentDigest
    /// The type with which the file was first uploaded, which never changes.
    package var mimeType: MIMEType
    /// When the contents were changed, in milliseconds since 1970.
    package var modified: Int64
    /// The display name of the person who changed the contents.
    package var by: String
    /// The path that the server was last known to have; nil if it has none.
    package var serverPath: RelativePath?
    /// The changes that the library does not have yet.
    package var pending: Pending = []
    /// Work dropped in favour of changes by others.
    package var conflict: Conflict = []
    /// Whether the local path differs from the one in the file's description, because that path is not possible here.
    package var isAlias = false

    package init(
        fileUUID: FileUUID, path: RelativePath, signature: FileSignature?, digest: ContentDigest, mimeType: MIMEType,
        modified: Int64, by: String, serverPath: RelativePath? = nil, pending: Pending = []
    ) {
        self.fileUUID = fileUUID
        self.path = path
        self.signature = signature
        self.digest = digest
        self.mimeType = mimeType
        self.modified = modified
        self.by = by
        self.serverPath = serverPath
        self.pending = pending
    }
}
