internal import Glibc

/// A user of this machine, to check which files a service running as this user can read.
public struct UserAccount: Sendable {
    public let name: String
    private let userID: uid_t
    private let groupID: gid_t

    /// - Returns: `nil` if the user does not exist (getpwnam(3)).
    public init?(_ name: String) {
        guard let entry = unsafe getpwnam(name) else { return nil }
        self.name = name
        unsafe userID = entry.pointee.pw_uid
        unsafe groupID = entry.pointee.pw_gid
    }

    /// Whether this process runs as the user, or as root, which can become any user.
    public var canBeTried: Bool { geteuid() == 0 || geteuid() == userID }

    /// Tries to open a file for reading as the user, with the user's groups, so that every kind of protection applies
    /// (seteuid(2)).
    ///
    /// Only for single-threaded programs: the whole process runs as that user meanwhile. Requires ``canBeTried``.
    /// - Throws: ``PosixError``; the reason why it cannot be read.
    public func tryReading(_ path: String) throws(PosixError) {
        guard geteuid() == 0, userID != 0 else { return try Self.open(path) }
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        guard unsafe getgroups(Int32(groups.count), &groups) >= 0 else {
            throw PosixError(call: "getgroups", code: errno)
        }
        let ownGroup = getegid()
        defer {
            // Switches back in reverse order; a process that remained the user would continue with fewer rights, never
            // with more.
            _ = seteuid(0)
            _ = setegid(ownGroup)
            _ = unsafe setgroups(groups.count, groups)
        }
        guard unsafe initgroups(name, groupID) == 0, setegid(groupID) == 0, seteuid(userID) == 0 else {
            throw PosixError(call: "seteuid", code: errno)
        }
        try Self.open(path)
    }

    private static func open(_ path: String) throws(PosixError) {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        close(descriptor)
    }
}
