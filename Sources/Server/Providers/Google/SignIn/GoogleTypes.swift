// Members are named as on the wire, but in camel case.

/// Reply of `oauth2/v3/userinfo` (OpenID Connect Core, section 5.3).
struct GoogleUserInfo: Decodable {
    /// Identifies the person permanently; at most 255 characters.
    var sub: String
    /// Absent if the token lacks the scope `profile`.
    var name: String?
}

/// Reply of `tokeninfo`; all values are strings.
struct GoogleTokenInfo: Decodable {
    var aud: String?
    var azp: String?
    var sub: String?
    var expiresIn: String?
}
