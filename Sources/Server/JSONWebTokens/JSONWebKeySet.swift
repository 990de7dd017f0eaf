internal import UntrustedInput

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
