#if canImport(CryptoKit)
    import CryptoKit
#else
    import OpenSSLCrypto
#endif

/// A digest over bytes that arrive piece by piece: CryptoKit's on Apple's systems, OpenSSL's on others. A copy continues
/// independently of the original.
public struct FileDigest: Sendable {
    /// A hash function.
    public enum Algorithm: Sendable {
        /// RFC 1321: 16 bytes. Detects accidental damage, but is not secure against attackers.
        case md5
        /// RFC 3174: 20 bytes. Detects accidental damage, but is not secure against attackers.
        case sha1
        /// RFC 6234: 32 bytes.
        case sha256
    }

    #if canImport(CryptoKit)
        private var hash: any HashFunction & Sendable

        /// Starts a digest of empty input.
        public init(_ algorithm: Algorithm) {
            hash =
                switch algorithm {
                case .md5: Insecure.MD5()
                case .sha1: Insecure.SHA1()
                case .sha256: SHA256()
                }
        }

        /// Adds `bytes` to the end of the input.
        public mutating func update(_ bytes: RawSpan) {
            unsafe bytes.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        }

        /// The digest of everything added, as raw bytes; more may be added afterwards.
        public func finish() -> [UInt8] { Self.finish(hash) }

        private static func finish(_ hash: some HashFunction) -> [UInt8] { Array(hash.finalize()) }
    #else
        private var hash: StorableDigest

        /// Starts a digest of empty input.
        public init(_ algorithm: Algorithm) {
            hash =
                switch algorithm {
                case .md5: StorableDigest(.md5)
                case .sha1: StorableDigest(.sha1)
                case .sha256: StorableDigest(.sha256)
                }
        }

        /// Continues a computation.
        /// - Parameter state: ``state`` of another SHA-256 digest.
        /// - Returns: `nil` if the state is invalid.
        init?(sha256 state: ArraySlice<UInt8>) {
            guard let hash = StorableDigest(.sha256, state: state) else { return nil }
            self.hash = hash
        }

        /// The data that is needed to continue the computation elsewhere.
        var state: [UInt8] { hash.state }

        /// Adds `bytes` to the end of the input.
        public mutating func update(_ bytes: RawSpan) { hash.update(bytes) }

        /// The digest of everything added, as raw bytes; more may be added afterwards.
        public func finish() -> [UInt8] { hash.finish() }
    #endif

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: [UInt8]) { unsafe update(bytes.span.bytes) }

    /// Adds `bytes` to the end of the input.
    public mutating func update(_ bytes: ArraySlice<UInt8>) { unsafe update(bytes.span.bytes) }

    /// Returns the digest of `bytes` in one step.
    public static func digest(of bytes: [UInt8], _ algorithm: Algorithm) -> [UInt8] {
        var digest = FileDigest(algorithm)
        digest.update(bytes)
        return digest.finish()
    }
}

/// Checks signatures with Ed25519 (RFC 8032): CryptoKit's on Apple's systems, OpenSSL's on others.
public enum Ed25519 {
    /// Whether `signature`, 64 bytes, is that of a public key, 32 bytes, over `message`.
    public static func verifies(_ signature: [UInt8], over message: [UInt8], by publicKey: [UInt8]) -> Bool {
        #if canImport(CryptoKit)
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey)
            return key?.isValidSignature(signature, for: message) ?? false
        #else
            return Ed25519Key.verifies(signature, over: message, by: publicKey)
        #endif
    }
}
