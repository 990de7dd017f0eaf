internal import COpenSSL

/// A digest over bytes that arrive piece by piece, whose computation can be interrupted, stored, and continued by
/// another process.
///
/// It uses OpenSSL's functions of md5(3) and SHA256_Init(3): they are deprecated in favour of evp(3), whose contexts
/// cannot be stored.
public struct StorableDigest: Sendable {
    private enum Context {
        case md5(MD5_CTX)
        case sha1(SHA_CTX)
        case sha256(SHA256_CTX)
    }

    private var context: Context

    /// Starts a digest of empty input.
    public init(_ algorithm: DigestAlgorithm) {
        switch algorithm {
        case .md5:
            var new = MD5_CTX()
            _ = unsafe MD5_Init(&new)
            context = .md5(new)
        case .sha1:
            var new = SHA_CTX()
            _ = unsafe SHA1_Init(&new)
            context = .sha1(new)
        case .sha256:
            var new = SHA256_CTX()
            _ = unsafe SHA256_Init(&new)
            context = .sha256(new)
        }
    }

    /// Continues a computation.
    /// - Parameter state: ``state`` of a digest with the same algorithm.
    /// - Returns: `nil` if the state is invalid.
    public init?(_ algorithm: DigestAlgorithm, state: some Collection<UInt8>) {
        self.init(algorithm)
        let isValid =
            switch context {
            case .md5(var stored):
                Self.load(state, into: &stored) && stored.num < MD5_CBLOCK && replace(.md5(stored))
            case .sha1(var stored):
                Self.load(state, into: &stored) && stored.num < SHA_CBLOCK && replace(.sha1(stored))
            case .sha256(var stored):
                Self.load(state, into: &stored) && stored.num < SHA256_CBLOCK
                    && stored.md_len == SHA256_DIGEST_LENGTH && replace(.sha256(stored))
            }
        guard isValid else { return nil }
    }

    private mutating func replace(_ new: Context) -> Bool {
        context = new
        return true
    }

    /// The data that is needed to continue the computation elsewhere: at most 112 bytes, in the byte order of this
    /// processor.
    public var state: [UInt8] {
        switch context {
        case .md5(let context): Self.bytes(of: context)
        case .sha1(let context): Self.bytes(of: context)
        case .sha256(let context): Self.bytes(of: context)
        }
    }

    /// The length of ``state`` for an algorithm.
    public static func stateByteCount(_ algorithm: DigestAlgorithm) -> Int { StorableDigest(algorithm).state.count }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { bytes in
            switch context {
            case .md5(var running):
                _ = unsafe MD5_Update(&running, bytes.baseAddress, bytes.count)
                context = .md5(running)
            case .sha1(var running):
                _ = unsafe SHA1_Update(&running, bytes.baseAddress, bytes.count)
                context = .sha1(running)
            case .sha256(var running):
                _ = unsafe SHA256_Update(&running, bytes.baseAddress, bytes.count)
                context = .sha256(running)
            }
        }
    }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: Span<UInt8>) { unsafe update(bytes.bytes) }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: [UInt8]) { unsafe update(bytes.span.bytes) }

    /// The digest of everything added, as raw bytes; more may be added afterwards.
    public func finish() -> [UInt8] {
        switch context {
        case .md5(var running):
            unsafe Self.digest(.md5) { unsafe MD5_Final($0, &running) }
        case .sha1(var running):
            unsafe Self.digest(.sha1) { unsafe SHA1_Final($0, &running) }
        case .sha256(var running):
            unsafe Self.digest(.sha256) { unsafe SHA256_Final($0, &running) }
        }
    }

    private static func digest(
        _ algorithm: DigestAlgorithm, _ end: (UnsafeMutablePointer<UInt8>) -> Int32
    ) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: algorithm.byteCount)
        unsafe digest.withUnsafeMutableBufferPointer { buffer in
            if let start = buffer.baseAddress { _ = unsafe end(start) }
        }
        return digest
    }

    private static func bytes<Value>(of value: Value) -> [UInt8] {
        unsafe withUnsafeBytes(of: value) { unsafe [UInt8]($0) }
    }

    private static func load<Value>(_ bytes: some Collection<UInt8>, into value: inout Value) -> Bool {
        guard bytes.count == MemoryLayout<Value>.size else { return false }
        unsafe withUnsafeMutableBytes(of: &value) { unsafe $0.copyBytes(from: bytes) }
        return true
    }
}
