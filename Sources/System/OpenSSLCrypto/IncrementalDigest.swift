import COpenSSL

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

/// The hash functions used for checksums of files.
public enum DigestAlgorithm: Sendable, CaseIterable {
    /// RFC 1321. Only for comparing with what a cloud reports; not cryptographically secure.
    case md5
    /// RFC 3174. Only for comparing with what a cloud reports; not cryptographically secure.
    case sha1
    /// RFC 6234.
    case sha256

    /// Length of the digest in bytes: 16, 20 or 32.
    public var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        }
    }

    /// OpenSSL's static description of the algorithm; never freed (EVP_sha256(3)).
    var openSSL: OpaquePointer {
        switch self {
        case .md5: unsafe EVP_md5()
        case .sha1: unsafe EVP_sha1()
        case .sha256: unsafe EVP_sha256()
        }
    }
}

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

/// Returns the HMAC-SHA256 of `message` under `key`: 32 raw bytes (RFC 2104, RFC 6234).
///
/// Keys of any length are allowed, including empty ones.
public func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    // HMAC(3) reads a null key as "reuse the last one", so an empty key still needs an address.
    let presentKey = key.isEmpty ? [0] : key
    return unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
        let result = unsafe presentKey.withUnsafeBytes { keyBytes in
            unsafe message.withUnsafeBufferPointer { messageBytes in
                unsafe HMAC(
                    EVP_sha256(), keyBytes.baseAddress, Int32(key.count), messageBytes.baseAddress,
                    messageBytes.count, output.baseAddress, nil)
            }
        }
        precondition(unsafe result != nil, "HMAC fails only without memory")
        count = 32
    }
}
