internal import CPosix

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
