import FoundationEssentials
import HTTPTransport
import OpenSSLCrypto
import UntrustedInput

/// The location of a person's files, and the user name for them: `X-account-details`, and the part of it that is
/// stored.
struct WebDAVLocation: Equatable {
    private struct Details: Codable {
        var address: String
        var user: String?
    }

    private static let longestUserName = 255
    /// The limit for a stored identity.
    private static let longestIdentity = 255

    let root: ServerAddress
    /// The name sent with the password; `nil` if the token is a bearer token (RFC 6750).
    let user: String?

    /// Reads `{"address": "https://cloud.example.com/remote.php/dav/files/alice/", "user": "alice"}`.
    /// - Throws: ``AccountError/malformedDetails(_:)``.
    init(_ text: String?) throws(AccountError) {
        guard let text, let details = try? UntrustedJSON.decode(Details.self, from: text.utf8) else {
            throw .malformedDetails("must be JSON with the address of a folder on a WebDAV server and a user")
        }
        guard let root = ServerAddress(details.address) else {
            throw .malformedDetails("has an address that is not a folder on a WebDAV server")
        }
        let user = details.user.flatMap { $0.isEmpty ? nil : $0 }
        // A colon would end the name, and a control character the header (RFC 7617, section 2). If names could contain
        // a slash, two identities could have the same text.
        guard
            user.map({ user in
                user.utf8.count <= Self.longestUserName
                    && user.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x3A && $0 != 0x2F }
            }) ?? true
        else { throw .malformedDetails("has a user name that cannot be sent") }
        self.root = root
        self.user = user
    }

    /// The location in the form of ``StoredCredentials/location``.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let encoded = try? encoder.encode(Details(address: root.text, user: user))
        return encoded.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The value of `Authorization`: user and password, or a bearer token.
    func authorization(_ token: String) -> String {
        guard let user else { return "Bearer " + token }
        return "Basic " + Data("\(user):\(token)".utf8).base64EncodedString()
    }

    /// The person's identity for us: their name on their server, and the address, so that no server can speak for
    /// another.
    func identity(of name: String) -> String {
        let identity = "\(name)@\(root.authority)\(root.path)"
        guard identity.unicodeScalars.count > Self.longestIdentity else { return identity }
        return "sha256:" + IncrementalDigest.digest(of: Array(identity.utf8), .sha256).hexLowercase
    }
}
