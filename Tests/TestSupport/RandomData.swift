import Glibc

/// Data that no earlier test has used.
public enum RandomData {
    /// `count` random bytes.
    public static func bytes(_ count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            // One call for all of them: a generator of Swift's asks the kernel for every eight bytes.
            if let start = buffer.baseAddress { unsafe arc4random_buf(start, count) }
            initialized = count
        }
    }
}
