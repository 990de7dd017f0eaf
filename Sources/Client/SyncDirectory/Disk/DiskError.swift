#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Android)
    internal import Android
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// A failed system call on the directory's files.
package struct DiskError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The call, such as `openat`.
    package let call: String
    /// The system's error number; see errno(3).
    package let code: Int32
    /// The path, if the error concerns one file.
    package var path: String?

    init(_ call: String, _ path: RelativePath? = nil, code: Int32 = errno) {
        self.call = call
        self.code = code
        self.path = path?.text
    }

    /// Whether the file does not exist, including because a parent folder is missing or is not a folder.
    var isMissing: Bool { code == ENOENT || code == ENOTDIR || code == ELOOP }

    /// Whether the name is already in use.
    var isOccupied: Bool { code == EEXIST || code == ENOTEMPTY }

    /// Whether another place in the directory may work: a link or a file exists instead of a needed folder, the name is
    /// invalid on this file system, access to the folder is denied, or the folder is on another file system.
    var concernsThePlace: Bool {
        [ENOTDIR, ELOOP, EISDIR, ENAMETOOLONG, EINVAL, EILSEQ, EACCES, EPERM, EXDEV, EEXIST, ENOTEMPTY].contains(code)
    }

    /// A description for people.
    package var description: String {
        let reason = unsafe String(cString: strerror(code))
        return path.map { "\($0): \(reason) (\(call))" } ?? "\(reason) (\(call))"
    }
}
