/// Why a cryptographic operation failed, by what the caller can do about it.
///
/// No case carries key material, plaintext or OpenSSL's own text.
public enum CryptoError: Error, Equatable, Sendable {
    /// The sealed record is too short, or of a version that we do not know: it was never ours, or is damaged.
    case malformedRecord
    /// The record was sealed with a key that is not in the key ring: the operator must bring the old key back.
    case unknownKey(identifier: UInt32)
    /// The record, or the additional data it was sealed with, was changed: treat it as corrupt.
    case authenticationFailed
    /// A key has the wrong size or is not base64: refuse to start.
    case invalidKey
    /// The operating system gave no random bytes, or OpenSSL ran out of memory: give up this request.
    case unavailable
}

extension CryptoError: CustomStringConvertible {
    /// One sentence that is safe to show and to log.
    public var description: String {
        switch self {
        case .malformedRecord: "The sealed record is malformed."
        case .unknownKey(let identifier):
            "The record is sealed with key \(String(identifier, radix: 16)), which is not configured."
        case .authenticationFailed: "The sealed record does not authenticate."
        case .invalidKey: "A sealing key must be 32 bytes."
        case .unavailable: "The cryptographic library is unavailable."
        }
    }
}
