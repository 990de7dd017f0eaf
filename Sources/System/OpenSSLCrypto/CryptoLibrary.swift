import COpenSSL

/// Process-wide setup of libcrypto.
public enum CryptoLibrary {
    /// Keeps the library from freeing its memory at process exit: a detached thread may still be using it. Call once in
    /// `main`, before any other call to the library or to one that uses it (OPENSSL_init_crypto(3)).
    public static func initialize() {
        let isSet = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        precondition(isSet == 1, "OpenSSL could not be initialized")
    }
}

/// Why a cryptographic operation failed, classified by what the caller can do about it.
///
/// No case carries key material, plaintext or OpenSSL's own text.
public enum CryptoError: Error, Equatable, Sendable {
    /// The sealed record is too short, or of an unknown version: it was not created by us, or is damaged.
    case malformedRecord
    /// The record was sealed with a key that is not in the key ring: the operator must restore the old key.
    case unknownKey(identifier: UInt32)
    /// The record, or the additional data it was sealed with, was changed: treat it as corrupt.
    case authenticationFailed
    /// A key cannot be read, or its size or type is not supported: the process must not start.
    case invalidKey
    /// The operating system returned no random bytes, or OpenSSL ran out of memory: abort this request.
    case unavailable
}

extension CryptoError: CustomStringConvertible {
    /// One sentence that is safe to show and to log.
    public var description: String {
        switch self {
        case .malformedRecord: "The sealed record is malformed."
        case .unknownKey(let identifier):
            "The record is sealed with key \(String(identifier, radix: 16)), which is not configured."
        case .authenticationFailed: "The sealed record failed authentication."
        case .invalidKey:
            "The key is unusable: a sealing key has 32 bytes, a signing key is RSA of 2,048 to 4,096 bits or P-256."
        case .unavailable: "The cryptographic library is unavailable."
        }
    }
}
