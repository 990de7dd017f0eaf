import CPosix
import Glibc

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

/// Settings of the C library's allocator (mallopt(3)).
public enum MemoryAllocator {
    /// Returns freed blocks of 128 KiB and more, such as the parts of uploads, to the system.
    ///
    /// This is glibc's initial behaviour, but it raises the threshold as soon as such a block is freed, and then keeps
    /// such blocks in the heap of the thread that used them. Call in `main`, before the first thread starts.
    public static func returnLargeBlocks() {
        _ = mallopt(M_MMAP_THRESHOLD, 128 * 1024)
        _ = mallopt(M_ARENA_MAX, 8)
    }
}
