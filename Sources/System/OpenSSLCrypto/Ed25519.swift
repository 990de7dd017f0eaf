internal import COpenSSL

/// A key that signs with Ed25519 (RFC 8032); never prints its bytes.
public struct Ed25519Key: Sendable {
    /// The length of the secret, and of the public key, in bytes.
    public static let byteCount = 32

    /// The public half, 32 bytes.
    public let publicKey: [UInt8]
    private let seed: [UInt8]

    /// Creates a key from its secret (EVP_PKEY_new_raw_private_key(3)).
    /// - Parameter seed: 32 random bytes.
    /// - Throws: ``CryptoError/invalidKey`` if there are not exactly 32.
    public init(seed: [UInt8]) throws(CryptoError) {
        guard seed.count == Self.byteCount else { throw .invalidKey }
        guard let key = unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
            throw .forgettingDetails(.unavailable)
        }
        defer { unsafe EVP_PKEY_free(key) }
        var publicKey = [UInt8](repeating: 0, count: Self.byteCount)
        var length = publicKey.count
        guard unsafe EVP_PKEY_get_raw_public_key(key, &publicKey, &length) == 1, length == Self.byteCount else {
            throw .forgettingDetails(.unavailable)
        }
        self.seed = seed
        self.publicKey = publicKey
    }

    /// The signature over `message`, 64 bytes (EVP_DigestSign(3), EVP_SIGNATURE-ED25519(7)).
    /// - Throws: ``CryptoError/unavailable``.
    public func signature(over message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw .unavailable }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard let key = unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
            throw .forgettingDetails(.unavailable)
        }
        defer { unsafe EVP_PKEY_free(key) }
        var signature = [UInt8](repeating: 0, count: 64)
        var length = signature.count
        guard unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
            unsafe EVP_DigestSign(context, &signature, &length, message, message.count) == 1, length == 64
        else { throw .forgettingDetails(.unavailable) }
        return signature
    }

    /// Whether `signature` is that of a public key of 32 bytes over `message` (EVP_DigestVerify(3)).
    public static func verifies(_ signature: [UInt8], over message: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        guard let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, publicKey, publicKey.count) else {
            return false
        }
        defer { unsafe EVP_PKEY_free(key) }
        guard unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

extension Ed25519Key: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// Shows nothing, so that `dump` and string interpolation of an enclosing type print no key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
