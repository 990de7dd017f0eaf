internal import CPosix

/// Settings of the C library's allocator (mallopt(3)).
public enum MemoryAllocator {
    /// Makes blocks of 128 KiB and more, such as the parts of uploads, go back to the system when they are freed.
    ///
    /// glibc starts out like that, but raises the limit by itself as soon as such a block is freed, and then keeps them in
    /// the heap of whichever thread used them. Call in `main`, before the first thread starts.
    public static func returnLargeBlocks() {
        _ = mallopt(M_MMAP_THRESHOLD, 128 * 1024)
        _ = mallopt(M_ARENA_MAX, 8)
    }
}
