package import Foundation

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Android)
    internal import Android
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

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
