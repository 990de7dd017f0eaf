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

/// What tells cheaply that a file is still the one that was read: as long as it is equal, so are the contents.
///
/// The time of change (ctime) is part of it: programs can set the time of modification back, but not that one.
package struct FileSignature: Sendable, Hashable, Codable {
    /// Size in bytes.
    package var size: Int64
    /// Time of modification, in nanoseconds since 1970.
    package var modified: Int64
    /// Time of the last change to contents, name or attributes, in nanoseconds since 1970.
    package var changed: Int64
    /// The number of the file in its file system.
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
        // Beyond the year 2262 all are one.
        let seconds = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        return seconds.overflow
            ? Int64.max : seconds.partialValue.addingReportingOverflow(Int64(time.tv_nsec)).partialValue
    }

    /// What stays when a file is moved.
    struct ContentsIdentity: Hashable {
        var inode: UInt64
        var size: Int64
        var modified: Int64
    }

    var contentsIdentity: ContentsIdentity { ContentsIdentity(inode: inode, size: size, modified: modified) }

    /// Whether both may be one file, or a file and its copy.
    func resembles(_ other: FileSignature) -> Bool { inode == other.inode || size == other.size }

    /// The time of modification.
    package var modificationDate: Date { Date(timeIntervalSince1970: Double(modified) / 1e9) }
}

/// What is at a path.
package enum DirectoryItem: Sendable, Hashable {
    /// Nothing.
    case missing
    /// A regular file.
    case file(FileSignature)
    /// A folder.
    case folder
    /// A symbolic link, a device or the like: none of our business, and never followed.
    case other
}
