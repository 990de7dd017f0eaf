extension DigestAlgorithm {
    /// Whether this processor computes SHA-256 faster than MD5: where it has instructions for the one, as x86 has since
    /// 2016 and ARM since its version 8; no processor has any for the other.
    ///
    /// Measured once in a process, which takes some 2 ms; that the library has the instructions, too, is measured with it.
    public static let isSHA256FasterThanMD5 = shortestTime(.sha256) < shortestTime(.md5)

    /// The shortest of several measurements: the longer ones were interrupted.
    private static func shortestTime(_ algorithm: DigestAlgorithm) -> Duration {
        let bytes = [UInt8](repeating: 0x5A, count: 128 << 10)
        return (0..<5).map { _ in
            ContinuousClock().measure { _ = IncrementalDigest.digest(of: bytes, algorithm) }
        }.min() ?? .zero
    }
}
