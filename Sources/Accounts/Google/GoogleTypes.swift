// Members are named as on the wire, but in camel case.

/// Reply of `oauth2/v3/userinfo` (OpenID Connect Core, section 5.3).
struct GoogleUserInfo: Decodable {
    /// Identifies the person for ever; at most 255 characters.
    var sub: String
    /// Absent if the token lacks the scope `profile`.
    var name: String?
}

/// Reply of `tokeninfo`; all values are texts.
struct GoogleTokenInfo: Decodable {
    var aud: String?
    var azp: String?
    var sub: String?
    var expiresIn: String?
}

/// Reply of the token endpoint (RFC 6749, section 5.1).
struct GoogleTokens: Decodable {
    var accessToken: String
    /// Only at the first consent.
    var refreshToken: String?
    /// Granted scopes, separated by blanks; may be fewer than asked for.
    var scope: String?
}
