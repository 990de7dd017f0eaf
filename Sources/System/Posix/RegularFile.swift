internal import Glibc

/// An open regular file, read and written at given offsets, closed when the value is destroyed.
///
/// Not `Sendable`: it belongs to the thread that uses it.
public struct RegularFile: ~Copyable {
    /// The purpose of opening the file.
    public enum Purpose: Sendable {
        /// Reading a file that exists.
        case reading
        /// Reading and writing; created with mode 0600 if it does not exist.
        case writing
    }

    private let descriptor: CInt

    /// Whether the path exists, as any type of file (access(2)).
    public static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// When the contents, permissions or name of the file at `path` last changed; `nil` if it cannot be examined.
    ///
    /// This is the time of the last change to its inode (stat(2), `st_ctim`). The time of its contents can be set to
    /// anything, for example when an older file is moved here or copied with its times.
    public static func secondsSince1970OfLastChange(_ path: String) -> Int64? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Int64(status.st_ctim.tv_sec)
    }

    /// Changes the owner of a file of root's to the owner of its folder; does nothing if this process is not root's.
    /// The folder's owner cannot redirect this to another file, neither by a symbolic nor by a hard link.
    /// - Throws: ``PosixError``.
    public static func giveToOwnerOfFolder(_ path: String) throws(PosixError) {
        guard geteuid() == 0 else { return }
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        var (owner, status) = (stat(), stat())
        guard unsafe stat(folder.isEmpty ? "." : folder, &owner) == 0 else {
            throw PosixError(call: "stat", code: errno)
        }
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw PosixError(call: "open", code: errno) }
        defer { close(file) }
        guard unsafe fstat(file, &status) == 0 else { throw PosixError(call: "fstat", code: errno) }
        guard status.st_uid == 0, status.st_nlink == 1, status.st_mode & S_IFMT == S_IFREG, owner.st_uid != 0 else {
            return
        }
        guard fchown(file, owner.st_uid, owner.st_gid) == 0 else { throw PosixError(call: "fchown", code: errno) }
    }

    /// Opens the file at `path` (open(2)).
    /// - Throws: ``PosixError``.
    public init(_ path: String, for purpose: Purpose) throws(PosixError) {
        let flags = purpose == .reading ? O_RDONLY : O_RDWR | O_CREAT
        let descriptor = unsafe open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Size in bytes (fstat(2)).
    /// - Throws: ``PosixError``.
    public borrowing func size() throws(PosixError) -> Int {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw PosixError(call: "fstat", code: errno) }
        return Int(status.st_size)
    }

    /// Writes all of `bytes` from `offset` on (pwrite(2)).
    /// - Throws: ``PosixError``; a part may have been written.
    public borrowing func write(_ bytes: Span<UInt8>, at offset: Int) throws(PosixError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(
                    descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written,
                    off_t(offset + written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw PosixError(call: "pwrite", code: errno) }
            written += count
        }
    }

    /// Reads into the beginning of `buffer` from `offset` on, until it is full or the file ends (pread(2)).
    /// - Returns: bytes read; fewer than asked for only at the end of the file.
    /// - Throws: ``PosixError``.
    public borrowing func read(into buffer: inout MutableSpan<UInt8>, at offset: Int) throws(PosixError) -> Int {
        var total = 0
        let wanted = buffer.count
        while total < wanted {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe pread(descriptor, bytes.baseAddress?.advanced(by: total), wanted - total, off_t(offset + total))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw PosixError(call: "pread", code: errno) }
            if count == 0 { break }
            total += count
        }
        return total
    }

    /// Truncates or extends the file to `size` bytes (ftruncate(2)).
    /// - Throws: ``PosixError``.
    public borrowing func resize(to size: Int) throws(PosixError) {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw PosixError(call: "ftruncate", code: errno) }
    }
}

/// Operations on directory entries.
public enum Directory {
    /// Creates the directory at `path` and missing parent directories, with mode 0700 (mkdir(2)).
    /// - Throws: ``PosixError``.
    public static func make(_ path: String) throws(PosixError) {
        if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw PosixError(call: "mkdir", code: errno)
        }
        try make(String(path[..<slash]))
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw PosixError(call: "mkdir", code: errno) }
    }

    /// Creates the missing parent directories of a file, readable by everyone (mode 0755).
    /// - Throws: ``PosixError``.
    public static func makeParents(of path: String) throws(PosixError) {
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        guard !folder.isEmpty, !AtomicFile.exists(folder) else { return }
        try makeParents(of: folder)
        try make(folder)
        try AtomicFile.setPermissions(of: folder, to: 0o755)
    }

    /// The names in the directory at `path`, sorted, without those that begin with a dot; none if it does not exist.
    /// - Throws: ``PosixError``.
    public static func names(in path: String) throws(PosixError) -> [String] {
        guard let stream = unsafe opendir(path) else {
            if errno == ENOENT { return [] }
            throw PosixError(call: "opendir", code: errno)
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// The names in a directory that match a pattern of fnmatch(3), sorted; none if the directory does not exist.
    /// - Throws: ``PosixError``.
    public static func names(in path: String, matching pattern: String) throws(PosixError) -> [String] {
        try names(in: path).filter { matches($0, pattern: pattern) }
    }

    /// Whether a name matches a pattern of fnmatch(3); wildcards do not match a leading dot.
    public static func matches(_ name: String, pattern: String) -> Bool {
        unsafe fnmatch(pattern, name, FNM_PERIOD) == 0
    }

    /// Renames a file atomically, replacing an existing one (rename(2)).
    /// - Throws: ``PosixError``.
    public static func rename(_ old: String, to new: String) throws(PosixError) {
        guard unsafe Glibc.rename(old, new) == 0 else { throw PosixError(call: "rename", code: errno) }
    }

    /// Adds a second name to a file (link(2)).
    /// - Throws: ``PosixError``, for example if a file with the new name exists.
    public static func link(_ old: String, to new: String) throws(PosixError) {
        guard unsafe Glibc.link(old, new) == 0 else { throw PosixError(call: "link", code: errno) }
    }

    /// Removes a file if it exists (unlink(2)).
    /// - Throws: ``PosixError``.
    public static func removeFile(_ path: String) throws(PosixError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw PosixError(call: "unlink", code: errno) }
    }

    /// Removes a directory if it exists and is empty (rmdir(2)).
    /// - Throws: ``PosixError``.
    public static func removeEmpty(_ path: String) throws(PosixError) {
        let isDone = unsafe rmdir(path) == 0 || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST
        guard isDone else { throw PosixError(call: "rmdir", code: errno) }
    }
}
