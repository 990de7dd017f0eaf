import OpenSSLCrypto
import UntrustedInput

/// The public keys of an issuer (RFC 7517, section 5).
public struct JSONWebKeySet: Sendable {
    private let keys: [String: [VerificationKey]]

    /// The maximum number of keys read; issuers publish two to ten.
    public static let maximumKeys = 64

    /// Reads a key set.
    ///
    /// Keys for encryption, keys without a name, and keys of other kinds, sizes or curves are ignored, as RFC 7517,
    /// section 5, recommends: one unusual key must not make the others unusable.
    /// - Throws: ``JSONWebTokenError/malformed`` if it is not a key set or has more than ``maximumKeys`` members.
    public init(json: [UInt8]) throws(JSONWebTokenError) {
        guard let members = try? UntrustedJSON.decode(Members.self, from: json),
            members.keys.count <= Self.maximumKeys
        else { throw .malformed }
        var keys: [String: [VerificationKey]] = [:]
        for case .key(let published)? in members.keys {
            guard let name = published.kid, let key = try? VerificationKey(published) else { continue }
            keys[name, default: []].append(key)
        }
        self.keys = keys
    }

    /// Whether the set contains a key of that name.
    public func contains(keyID: String) -> Bool { keys[keyID] != nil }

    /// The key of that name for `algorithm`; names may repeat among kinds (RFC 7517, section 4.5).
    func key(named keyID: String, for algorithm: JSONWebToken.Algorithm) throws(JSONWebTokenError) -> VerificationKey {
        guard let named = keys[keyID] else { throw .unknownKey }
        guard let key = named.first(where: { $0.algorithm == algorithm }) else { throw .algorithmNotAllowed }
        return key
    }

    private struct Members: Decodable {
        // Optional, since a decoder does not call a type's initialiser for null.
        let keys: [Member?]
    }

    /// A member of the list, or another value in its place.
    private enum Member: Decodable {
        case key(PublishedKey)
        case unusable

        init(from decoder: any Decoder) throws {
            do {
                self = .key(try PublishedKey(from: decoder))
            } catch {
                self = .unusable
            }
        }
    }
}

/// One published key (RFC 7517, section 4; RFC 7518, section 6).
struct PublishedKey: Decodable {
    let kty: String
    let kid: String?
    let use: String?
    let alg: String?
    let n: String?
    let e: String?
    let crv: String?
    let x: String?
    let y: String?
}

/// A public key that verifies the signatures of one algorithm.
struct VerificationKey: Sendable {
    private let key: PublicKey

    /// The only algorithm for this key.
    var algorithm: JSONWebToken.Algorithm { JSONWebToken.Algorithm(key.kind) }

    /// - Throws: ``JSONWebTokenError/keyUnusable`` if it is not meant for verifying RS256 or ES256 signatures, or RSA
    ///   with less than 2,048 bits (RFC 7518, section 3.3) or more than 4,096.
    init(_ published: PublishedKey) throws(JSONWebTokenError) {
        guard published.use == nil || published.use == "sig" else { throw .keyUnusable }
        do throws(CryptoError) {
            switch published.kty {
            case "RSA":
                guard let modulus = published.n.flatMap({ [UInt8](base64URL: $0) }),
                    let exponent = published.e.flatMap({ [UInt8](base64URL: $0) })
                else { throw .invalidKey }
                key = try PublicKey(rsaModulus: modulus, exponent: exponent)
            case "EC":
                guard published.crv == "P-256", let x = published.x.flatMap({ [UInt8](base64URL: $0) }),
                    let y = published.y.flatMap({ [UInt8](base64URL: $0) })
                else { throw .invalidKey }
                key = try PublicKey(p256X: x, y: y)
            default: throw .invalidKey
            }
        } catch {
            throw .keyUnusable
        }
        guard published.alg == nil || published.alg == algorithm.rawValue else { throw .keyUnusable }
    }

    /// Whether `signature` is this key's signature over `message`. ECDSA signatures are r and s, 64 bytes; never DER.
    func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool { key.verifies(signature, over: message) }
}
