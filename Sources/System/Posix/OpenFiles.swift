internal import Glibc

/// How many files and connections this process may have open (getrlimit(2), `RLIMIT_NOFILE`).
public enum OpenFiles {
    /// Raises the limit to the system's maximum for this process, as long-lived servers do: in a person's shell it is
    /// 1,024.
    ///
    /// Call before the first thread starts. Programs that this one starts inherit the limit.
    /// - Returns: the limit now in force.
    @discardableResult
    public static func raiseLimit() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let isRaised = unsafe setrlimit(resource, &limit) == 0
        return Int(clamping: isRaised ? limit.rlim_cur : before)
    }
}
