extension DigestAlgorithm {
    /// Whether this processor computes SHA-256 faster than MD5. It does if it has instructions for SHA-256, as x86 has
    /// since 2016 and ARM since version 8; no processor has any for MD5.
    ///
    /// Measured once per process, in about 2 ms; the measurement also covers whether the library uses the instructions.
    public static let isSHA256FasterThanMD5 = shortestTime(.sha256) < shortestTime(.md5)

    /// The shortest of several measurements: the longer ones were interrupted.
    private static func shortestTime(_ algorithm: DigestAlgorithm) -> Duration {
        let bytes = [UInt8](repeating: 0x5A, count: 128 << 10)
        return (0..<5).map { _ in
            ContinuousClock().measure { _ = IncrementalDigest.digest(of: bytes, algorithm) }
        }.min() ?? .zero
    }
}
