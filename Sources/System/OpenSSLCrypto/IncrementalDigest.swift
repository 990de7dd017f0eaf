internal import COpenSSL

/// A digest over bytes that arrive piece by piece.
///
/// Owns one OpenSSL context and frees it; holds no more than the algorithm's state, however long the
/// input. Not `Sendable`: one thread at a time.
@safe
public struct IncrementalDigest: ~Copyable {
    /// The algorithm of this digest.
    public let algorithm: DigestAlgorithm
    private let context: OpaquePointer

    /// Starts a digest of empty input.
    /// Stops the program if memory is exhausted, or if OpenSSL runs in a mode that forbids the algorithm (MD5 under
    /// FIPS): the server cannot work without it.
    public init(_ algorithm: DigestAlgorithm) {
        guard let context = unsafe EVP_MD_CTX_new() else {
            preconditionFailure("OpenSSL could not allocate a digest context")
        }
        self.algorithm = algorithm
        unsafe self.context = unsafe context
        start()
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: RawSpan) {
        let result = unsafe bytes.withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
        precondition(result == 1, "EVP_DigestUpdate fails only on a context that was not started")
    }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: Span<UInt8>) { unsafe update(bytes.bytes) }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: [UInt8]) { unsafe update(bytes.span.bytes) }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: ArraySlice<UInt8>) { unsafe update(bytes.span.bytes) }

    /// Returns the digest of everything added, as raw bytes, and ends this value.
    public consuming func finish() -> [UInt8] { finishAndRestart() }

    /// Returns the digest of everything added since the last call, and starts again with empty input, reusing the
    /// context.
    public mutating func finishAndRestart() -> [UInt8] {
        let digest = unsafe [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { buffer, count in
            let result = unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
            precondition(result == 1, "EVP_DigestFinal_ex fails only on a context that was not started")
            count = algorithm.byteCount
        }
        start()
        return digest
    }

    /// Returns the digest of `bytes` in one step.
    public static func digest(of bytes: [UInt8], _ algorithm: DigestAlgorithm) -> [UInt8] {
        var digest = IncrementalDigest(algorithm)
        digest.update(bytes)
        return digest.finish()
    }

    private func start() {
        let result = unsafe EVP_DigestInit_ex(context, algorithm.openSSL, nil)
        precondition(result == 1, "OpenSSL does not offer \(algorithm)")
    }
}
