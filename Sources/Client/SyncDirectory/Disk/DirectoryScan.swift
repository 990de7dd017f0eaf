/// The regular files of a directory at one time.
package struct DirectoryScan: Sendable {
    /// Why a file or folder is skipped.
    package enum Reason: String, Sendable, Hashable, Codable {
        /// The file or folder cannot be read.
        case unreadable
        /// It is neither a file nor a folder, such as a symbolic link.
        case notAFile
        /// The name is not UTF-8, contains control characters, or is too long.
        case unusableName
        /// Another file's name differs only in Unicode normalization.
        case sameName

        /// Whether a person must take action before everything can be synchronized.
        package var isProblem: Bool { self != .notAFile }
    }

    /// A file or folder that is skipped.
    package struct Skipped: Sendable, Hashable {
        /// For display: bytes that are not UTF-8 are escaped.
        package var path: String
        package var reason: Reason

        package init(path: String, reason: Reason) {
            self.path = path
            self.reason = reason
        }
    }

    /// The files, by their paths as the disk spells them.
    package var files: [RelativePath: FileSignature] = [:]
    /// The folders that are not ignored.
    package var folders: [RelativePath] = []
    /// The skipped files and folders.
    package var skipped: [Skipped] = []
    /// Folders whose contents are unknown; the record of them remains valid.
    package var unknownFolders: [RelativePath] = []
    /// The files that are skipped because another file has the same path in another spelling.
    package var twins: [(path: RelativePath, signature: FileSignature)] = []

    /// No files.
    package init() {}

    /// A path as the disk spells it, possibly in another Unicode normalization form.
    package func spelling(of path: RelativePath) -> RelativePath {
        files.index(forKey: path).map { files.keys[$0] } ?? path
    }

    /// Whether a path could exist although it is not among ``files``.
    package func isUnknown(_ path: RelativePath) -> Bool {
        unknownFolders.contains { $0 == path || $0.contains(path) }
    }
}

extension DirectoryRoot {
    /// Finds all regular files that are not ignored.
    ///
    /// If paths of several files differ only in Unicode normalization, the file with the recorded spelling counts;
    /// without one, the first in the order of bytes. The others are ``DirectoryScan/twins``, as are unchanged files
    /// that the record lists as twins, whether or not the other file still exists.
    /// - Throws: ``DiskError`` if the directory itself cannot be read.
    package func scan(_ rules: IgnoreRules, record: DirectoryRecord? = nil) throws(DiskError) -> DirectoryScan {
        var scan = DirectoryScan()
        try enter(root, below: nil, rules, record, into: &scan)
        return scan
    }

    private func enter(
        _ folder: Descriptor, below parent: RelativePath?, _ rules: IgnoreRules, _ record: DirectoryRecord?,
        into scan: inout DirectoryScan
    ) throws(DiskError) {
        for stored in try FileCalls.names(in: folder).sorted(by: Self.bytewise) {
            let prefix = parent.map { $0.text + "/" } ?? ""
            if parent == nil, stored.text == RelativePath.stateFolder { continue }
            let text = prefix + stored.shown
            guard let name = stored.text, let path = RelativePath(prefix + name) else {
                if rules.ignoresUnusable(text) { continue }
                scan.skipped.append(DirectoryScan.Skipped(path: text, reason: .unusableName))
                continue
            }
            do throws(DiskError) {
                switch try FileCalls.item(name, in: folder.number) {
                case .missing: break
                case .file(let signature):
                    if rules.ignoresItself(path, isFolder: false) { continue }
                    scan.add(path, signature, record)
                case .folder:
                    if rules.ignoresItself(path, isFolder: true) { continue }
                    scan.folders.append(path)
                    try enter(
                        try FileCalls.openFolder(name, in: folder.number), below: path, rules, record, into: &scan)
                case .other: scan.skipped.append(DirectoryScan.Skipped(path: text, reason: .notAFile))
                }
            } catch {
                guard !error.isMissing else { continue }
                scan.skipped.append(DirectoryScan.Skipped(path: text, reason: .unreadable))
                scan.unknownFolders.append(path)
            }
        }
    }

    private static func bytewise(_ left: StoredName, _ right: StoredName) -> Bool {
        left.shown.utf8.lexicographicallyPrecedes(right.shown.utf8)
    }
}

extension DirectoryScan {
    fileprivate mutating func add(_ path: RelativePath, _ signature: FileSignature, _ record: DirectoryRecord?) {
        if record?.isTwin(path, signature) == true { return leaveAlone(path, signature) }
        guard let index = files.index(forKey: path) else {
            files[path] = signature
            return
        }
        guard let recorded = record?.file(at: path)?.path, recorded.isSpelled(like: path) else {
            return leaveAlone(path, signature)
        }
        let other = files.remove(at: index)
        leaveAlone(other.key, other.value)
        files[path] = signature
    }

    private mutating func leaveAlone(_ path: RelativePath, _ signature: FileSignature) {
        twins.append((path, signature))
        skipped.append(Skipped(path: path.text, reason: .sameName))
    }
}
