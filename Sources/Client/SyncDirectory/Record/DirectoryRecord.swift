internal import Foundation
package import SyncProtocol

/// What is known of a directory, in memory and, change by change, in an SQLite file.
///
/// Not `Sendable`: it belongs to one ``DirectoryKeeper``.
package final class DirectoryRecord {
    private let store: RecordStore
    private let ignoresCase: Bool
    private var files: [FileUUID: RecordedFile]
    private var byPath: [PathKey: FileUUID] = [:]
    /// How many recorded files lie below each folder.
    private var folders: [PathKey: Int] = [:]
    /// Files that were moved away and are still looked after, by their names.
    package private(set) var displaced: [String: DisplacedFile]

    /// Reads what is stored.
    /// - Parameter ignoresCase: whether names that differ in letter case alone are one name.
    package init(_ store: RecordStore, ignoresCase: Bool) throws(RecordError) {
        self.store = store
        self.ignoresCase = ignoresCase
        files = Dictionary(uniqueKeysWithValues: try store.files().map { ($0.fileUUID, $0) })
        displaced = Dictionary(uniqueKeysWithValues: try store.displaced().map { ($0.name, $0) })
        for file in files.values { index(file) }
    }

    /// Some of the files, in an order that is the same at each start.
    package func files(where isWanted: (RecordedFile) -> Bool) -> [RecordedFile] {
        files.values.filter(isWanted).sorted { $0.fileUUID.precedes($1.fileUUID) }
    }

    /// Whether one of the files is like that.
    package func contains(where isWanted: (RecordedFile) -> Bool) -> Bool { files.values.contains(where: isWanted) }

    /// How many files there are, those to be deleted included.
    package var count: Int { files.count }

    /// One file.
    package subscript(uuid: FileUUID) -> RecordedFile? { files[uuid] }

    /// The file at a path; one that is to be deleted is at none.
    package func file(at path: RelativePath) -> RecordedFile? { byPath[key(path)].flatMap { files[$0] } }

    /// Whether files are recorded below a path.
    package func hasFiles(below path: RelativePath) -> Bool { folders[key(path)] != nil }

    /// The file that lies where a path needs a folder.
    package func fileOnTheWay(to path: RelativePath) -> RecordedFile? {
        path.ancestors.lazy.compactMap { self.file(at: $0) }.first
    }

    /// Adds or changes a file.
    package func save(_ file: RecordedFile) throws(RecordError) {
        if let old = files[file.fileUUID] {
            if old == file { return }
            unindex(old)
        }
        files[file.fileUUID] = file
        index(file)
        try store.save(file)
    }

    /// Forgets a file.
    package func remove(_ uuid: FileUUID) throws(RecordError) {
        guard let file = files.removeValue(forKey: uuid) else { return }
        unindex(file)
        try store.remove(uuid)
    }

    /// Notes a file that is moved away.
    package func save(_ file: DisplacedFile) throws(RecordError) {
        displaced[file.name] = file
        try store.save(file)
    }

    /// Forgets a file that was moved away.
    package func removeDisplaced(_ name: String) throws(RecordError) {
        displaced[name] = nil
        try store.removeDisplaced(name)
    }

    /// Notes a conflict.
    package func add(_ conflict: DirectoryConflict) throws(RecordError) { try store.add(conflict) }

    /// The conflicts so far, the oldest first.
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
    /// An order of files that all devices agree on, whatever letter case they use.
    func precedes(_ other: FileUUID) -> Bool { rawValue.uppercased() < other.rawValue.uppercased() }
}
