/// The regular files of a directory at one time.
package struct DirectoryScan: Sendable, Hashable {
    /// Why a file or folder is skipped.
    package enum Reason: String, Sendable, Hashable, Codable {
        /// The file or folder cannot be read.
        case unreadable
        /// It is neither a file nor a folder, such as a symbolic link.
        case notAFile
        /// The name is not UTF-8, contains control characters, or is too long.
        case unusableName
        /// Another file's name differs only in Unicode normalization or, on a case-insensitive file system, in letter
        /// case.
        case sameName
    }

    /// A file or folder that is skipped.
    package struct Skipped: Sendable, Hashable {
        package var path: String
        package var reason: Reason
    }

    /// The files, by their paths as the disk spells them.
    package var files: [RelativePath: FileSignature] = [:]
    /// The folders that are not ignored.
    package var folders: [RelativePath] = []
    /// The skipped files and folders.
    package var skipped: [Skipped] = []
    /// Folders whose contents are unknown; what was known about them still counts.
    package var unknownFolders: [RelativePath] = []

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
    /// - Throws: ``DiskError`` if the directory itself cannot be read.
    package func scan(_ rules: IgnoreRules) throws(DiskError) -> DirectoryScan {
        var scan = DirectoryScan()
        try enter(root, below: nil, rules, into: &scan)
        return scan
    }

    private func enter(
        _ folder: Descriptor, below parent: RelativePath?, _ rules: IgnoreRules, into scan: inout DirectoryScan
    ) throws(DiskError) {
        for name in try FileCalls.names(in: folder).sorted(by: Self.bytewise) {
            let text = (parent.map { $0.text + "/" } ?? "") + (name ?? "?")
            if parent == nil, name == RelativePath.stateFolder { continue }
            guard let name, let path = RelativePath(text) else {
                scan.skipped.append(DirectoryScan.Skipped(path: text, reason: .unusableName))
                continue
            }
            do throws(DiskError) {
                switch try FileCalls.item(name, in: folder.number) {
                case .missing: break
                case .file(let signature):
                    if rules.ignoresItself(path, isFolder: false) { continue }
                    if scan.files[path] != nil {
                        scan.skipped.append(DirectoryScan.Skipped(path: text, reason: .sameName))
                    } else {
                        scan.files[path] = signature
                    }
                case .folder:
                    if rules.ignoresItself(path, isFolder: true) { continue }
                    scan.folders.append(path)
                    try enter(try FileCalls.openFolder(name, in: folder.number), below: path, rules, into: &scan)
                case .other: scan.skipped.append(DirectoryScan.Skipped(path: text, reason: .notAFile))
                }
            } catch {
                guard !error.isMissing else { continue }
                scan.skipped.append(DirectoryScan.Skipped(path: text, reason: .unreadable))
                scan.unknownFolders.append(path)
            }
        }
    }

    private static func bytewise(_ left: String?, _ right: String?) -> Bool {
        (left ?? "").utf8.lexicographicallyPrecedes((right ?? "").utf8)
    }
}
