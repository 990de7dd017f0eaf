// Members are named as on the wire, but in camel case.

/// Reply of `users/get_current_account`.
struct DropboxUser: Decodable {
    struct Name: Decodable {
        var displayName: String?
    }
    /// `dbid:…`; identifies the person for ever.
    var accountId: String
    var name: Name?
}

/// Reply of the token endpoint.
struct DropboxTokens: Decodable {
    var accessToken: String
    /// With codes that were asked for with `token_access_type=offline`; never with a refresh.
    var refreshToken: String?
    /// Granted scopes, separated by blanks.
    var scope: String?
    /// Whose tokens these are; not with a refresh.
    var accountId: String?
}
