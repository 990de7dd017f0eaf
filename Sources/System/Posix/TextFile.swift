internal import Glibc

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
