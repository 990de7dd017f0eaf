package import Foundation
import StorageHashes

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Android)
    internal import Android
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

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

/// A cheap check that a file has not changed since it was read: as long as the signatures are equal, so are the
/// contents.
///
/// The change time (ctime) is part of it: programs can reset the modification time, but not the change time.
package struct FileSignature: Sendable, Hashable, Codable {
    /// Size in bytes.
    package var size: Int64
    /// Modification time, in nanoseconds since 1970.
    package var modified: Int64
    /// Time of the last change to contents, name or attributes, in nanoseconds since 1970.
    package var changed: Int64
    /// The file's inode number in its file system.
    package var inode: UInt64

    package init(size: Int64, modified: Int64, changed: Int64, inode: UInt64) {
        self.size = size
        self.modified = modified
        self.changed = changed
        self.inode = inode
    }

    init(_ status: stat) {
        #if canImport(Darwin)
            let (modification, change) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (modification, change) = (status.st_mtim, status.st_ctim)
        #endif
        self.init(
            size: Int64(status.st_size), modified: Self.nanoseconds(modification), changed: Self.nanoseconds(change),
            inode: UInt64(status.st_ino))
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        // Beyond the year 2262 all times are equal.
        let seconds = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        return seconds.overflow
            ? Int64.max : seconds.partialValue.addingReportingOverflow(Int64(time.tv_nsec)).partialValue
    }

    /// The values that do not change when a file is moved.
    struct ContentsIdentity: Hashable {
        var inode: UInt64
        var size: Int64
        var modified: Int64
    }

    var contentsIdentity: ContentsIdentity { ContentsIdentity(inode: inode, size: size, modified: modified) }

    /// Whether both may be the same file, or a file and its copy.
    func resembles(_ other: FileSignature) -> Bool { inode == other.inode || size == other.size }

    /// The modification time.
    package var modificationDate: Date { Date(timeIntervalSince1970: Double(modified) / 1e9) }
}

/// The item at a path.
package enum DirectoryItem: Sendable, Hashable {
    /// Nothing.
    case missing
    /// A regular file.
    case file(FileSignature)
    /// A folder.
    case folder
    /// A symbolic link, a device or a similar item: ignored, and never followed.
    case other
}

/// The SHA-256 digest of a file's contents.
package struct ContentDigest: Sendable, Hashable, Comparable {
    /// 32 bytes.
    package let bytes: Data

    /// Creates a digest from its stored form; nil unless it is 32 bytes.
    package init?(_ bytes: Data) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// - Parameter digest: SHA-256 of the contents.
    init(_ digest: FileDigest) { bytes = Data(digest.finish()) }

    /// The digest of bytes in memory.
    package static func of(_ bytes: Data) -> ContentDigest {
        var digest = FileDigest(.sha256)
        digest.update(Array(bytes))
        return ContentDigest(digest)
    }

    package static func < (left: ContentDigest, right: ContentDigest) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
