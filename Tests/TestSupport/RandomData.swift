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

    /// The input, divided at random places into pieces of at most a third of it; some are empty.
    public static func pieces(of input: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = input[...]
        let most = max(1, input.count / 3)
        while !rest.isEmpty {
            let count = Int.random(in: 0...min(most, rest.count))
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
