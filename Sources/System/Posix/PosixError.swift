internal import Glibc

/// A system call that failed.
public struct PosixError: Error, Equatable, CustomStringConvertible {
    /// The call's name, as in its man page.
    public var call: String
    /// The value of errno.
    public var code: Int32

    public init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// The code for invalid contents.
    public static var invalid: Int32 { EINVAL }

    /// Whether something does not exist (`ENOENT`).
    public var isAbsence: Bool { code == ENOENT }
    /// Whether something is not permitted (`EACCES`, `EPERM`).
    public var isDenial: Bool { code == EACCES || code == EPERM }

    /// With the system's message, such as `open: No such file or directory`; strerror(3) is safe in threads since glibc
    /// 2.32.
    public var description: String { unsafe "\(call): \(String(cString: strerror(code)))" }
}
