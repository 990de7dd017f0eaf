#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Android)
    internal import Android
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// A system call on the directory's files that failed.
package struct DiskError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The call, such as `openat`.
    package let call: String
    /// The system's number of the error; see errno(3).
    package let code: Int32
    /// Where, if it was about one file.
    package var path: String?

    init(_ call: String, _ path: RelativePath? = nil, code: Int32 = errno) {
        self.call = call
        self.code = code
        self.path = path?.text
    }

    /// Whether there is no such file, also because a folder on the way is missing or is no folder.
    var isMissing: Bool { code == ENOENT || code == ENOTDIR || code == ELOOP }

    /// Whether something has the name already.
    var isOccupied: Bool { code == EEXIST || code == ENOTEMPTY }

    /// Whether another place in the directory may do where this one did not: a link or a file stands where a folder is
    /// needed, the name is none for this file system, the folder is closed to us, or is another file system.
    var concernsThePlace: Bool {
        [ENOTDIR, ELOOP, EISDIR, ENAMETOOLONG, EINVAL, EILSEQ, EACCES, EPERM, EXDEV, EEXIST, ENOTEMPTY].contains(code)
    }

    /// For people.
    package var description: String {
        let reason = unsafe String(cString: strerror(code))
        return path.map { "\($0): \(reason) (\(call))" } ?? "\(reason) (\(call))"
    }
}
