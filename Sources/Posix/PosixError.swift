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

    public var description: String { "\(call) failed with errno \(code)" }
}
