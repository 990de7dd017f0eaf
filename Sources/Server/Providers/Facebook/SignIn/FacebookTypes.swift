import FoundationEssentials
import UntrustedInput

// Members are named as on the wire, but in camel case.

/// Reply of `/me`.
struct FacebookUser: Decodable {
    /// Identifies the person within our app.
    var id: String
    var name: String?
}

/// Reply of `debug_token`.
struct FacebookTokenInspection: Decodable {
    struct Content: Decodable {
        var appId: String?
        /// `USER` for people; pages and apps also have tokens.
        var type: String?
        var isValid: Bool
        var userId: String?
        /// Seconds since 1970; 0 means never.
        var expiresAt: Int64?

        /// The token's remaining lifetime, zero if it has expired; `nil` if it does not expire.
        func lifetime(at now: Date) -> Duration? {
            guard let expiresAt, expiresAt > 0 else { return nil }
            return .untrusted(seconds: Double(expiresAt) - now.timeIntervalSince1970)
        }
    }
    var data: Content
}

/// Reply of `oauth/access_token`.
struct FacebookTokens: Decodable, PlausibilityChecked {
    var accessToken: String

    /// The token becomes a header of the reply to the phone.
    var isPlausible: Bool { accessToken.isIdentifier(upTo: 6_000) }
}

/// The Graph API's error body.
struct FacebookErrorBody: Decodable {
    struct Content: Decodable {
        var code: Int
        /// Whether the same request may succeed later.
        var isTransient: Bool?
    }
    var error: Content
}
