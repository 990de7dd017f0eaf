import Glibc

/// Atomic file creation: a file appears complete and with its mode, or not at all.
public enum AtomicFile {
    /// Writes a temporary file in the same directory, flushes it, and renames it (open(2), fchmod(2), fsync(2),
    /// rename(2)).
    ///
    /// The file is never visible incomplete or with another mode. It belongs to the user of this process. No other file
    /// is changed; a process that is killed meanwhile leaves a file `PATH.new-` with eight hexadecimal digits.
    /// - Parameter permissions: the bits of chmod(2); the umask is ignored.
    /// - Throws: ``PosixError``; the old file, if any, is unchanged then.
    public static func write(_ bytes: [UInt8], to path: String, permissions: UInt32) throws(PosixError) {
        try write(bytes, to: path, permissions, owner: nil)
    }

    /// Writes a file with the owner, group and permissions of another one, which it will replace or accompany.
    ///
    /// - Parameter example: the path of the other file; may be `path` itself.
    /// - Throws: ``PosixError``; the old file, if any, is unchanged then.
    public static func write(_ bytes: [UInt8], to path: String, like example: String) throws(PosixError) {
        var status = stat()
        guard unsafe stat(example, &status) == 0 else { throw PosixError(call: "stat", code: errno) }
        try write(bytes, to: path, status.st_mode & 0o7777, owner: (status.st_uid, status.st_gid))
    }

    private static func write(
        _ bytes: [UInt8], to path: String, _ permissions: UInt32, owner: (user: uid_t, group: gid_t)?
    ) throws(PosixError) {
        let digits = String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
        let temporary = "\(path).new-\(digits)"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        do throws(PosixError) {
            defer { close(descriptor) }
            if let owner, fchown(descriptor, owner.user, owner.group) != 0 {
                throw PosixError(call: "fchown", code: errno)
            }
            try fill(descriptor, bytes, permissions)
        } catch {
            try? Directory.removeFile(temporary)
            throw error
        }
        do throws(PosixError) { try Directory.rename(temporary, to: path) } catch {
            try? Directory.removeFile(temporary)
            throw error
        }
    }

    /// Checks, without creating anything, whether this process may create files in the folder of `path` (access(2)).
    /// - Throws: ``PosixError`` if the directory does not exist or is not writable.
    public static func requireWritableFolder(of path: String) throws(PosixError) {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "."
        guard unsafe access(String(folder), W_OK | X_OK) == 0 else { throw PosixError(call: "access", code: errno) }
    }

    /// The path without symbolic links (realpath(3)); a replacement must replace the link's target, not the link.
    /// - Throws: ``PosixError``.
    public static func resolved(_ path: String) throws(PosixError) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw PosixError(call: "realpath", code: errno) }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    private static func fill(_ descriptor: Int32, _ bytes: [UInt8], _ permissions: UInt32) throws(PosixError) {
        guard fchmod(descriptor, permissions) == 0 else { throw PosixError(call: "fchmod", code: errno) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw PosixError(call: "write", code: errno) }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw PosixError(call: "fsync", code: errno) }
    }

    /// Creates a symbolic link (symlink(2)).
    /// - Throws: ``PosixError``; `EEXIST` if the path already exists.
    public static func link(_ path: String, to target: String) throws(PosixError) {
        guard unsafe symlink(target, path) == 0 else { throw PosixError(call: "symlink", code: errno) }
    }

    /// Whether a file, directory or link exists at `path`, including a dangling link (lstat(2)).
    public static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Whether `path` is a regular file, and not a link to one (lstat(2)).
    public static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Sets the permission bits (chmod(2)).
    /// - Throws: ``PosixError``.
    public static func setPermissions(of path: String, to permissions: UInt32) throws(PosixError) {
        guard unsafe chmod(path, permissions) == 0 else { throw PosixError(call: "chmod", code: errno) }
    }
}

/// Small files that are read in full: configuration, keys, passwords.
public enum TextFile {
    /// The maximum size, in bytes.
    public static let limitBytes = 1 << 20

    /// The bytes of the file at `path`.
    /// - Throws: ``PosixError``; `EFBIG` if it is larger than ``limitBytes``.
    public static func read(_ path: String) throws(PosixError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        defer { close(descriptor) }
        var contents: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw PosixError(call: "read", code: errno) }
            if count == 0 { return contents }
            contents += chunk[..<count]
            guard contents.count <= limitBytes else { throw PosixError(call: "read", code: EFBIG) }
        }
    }

    /// The permission bits of the file at `path`, as in chmod(2).
    /// - Throws: ``PosixError``.
    public static func permissions(of path: String) throws(PosixError) -> UInt32 {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw PosixError(call: "stat", code: errno) }
        return status.st_mode & 0o7777
    }
}
