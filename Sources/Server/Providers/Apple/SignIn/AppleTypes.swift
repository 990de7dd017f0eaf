import FoundationEssentials
import UntrustedInput

/// Claims of the client secret, named as on the wire.
struct AppleClientSecret: Encodable, Sendable {
    var iss: String
    var iat: Int64
    var exp: Int64
    var aud: String
    var sub: String
}

/// The person's name as passed on by the phone in the header `X-account-details`; Apple provides it only once.
struct AppleAccountDetails: Decodable {
    private static let maximumBytes = 8_192

    var firstName: String?
    var lastName: String?
    var fullName: String?

    /// Reads what it can; an unreadable header is ignored, since it only adds a name.
    init(_ header: String?) {
        guard let header, header.utf8.count <= Self.maximumBytes,
            let details = try? UntrustedJSON.decode(Self.self, from: header.utf8)
        else { return }
        self = details
    }

    /// The full name, or the first and last name; may be empty.
    var displayName: String {
        if let fullName, !fullName.isEmpty { return fullName }
        return [firstName, lastName].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
    }
}
