// Members are named as on the wire, but in camel case.

/// Reply of Graph's `/me`.
struct MicrosoftUser: Decodable {
    /// For personal accounts, 16 hexadecimal digits, or fewer if the first ones are zeros; for others, a UUID.
    var id: String
    var displayName: String?
}

/// The token endpoint's error body (Microsoft identity platform, "Authentication and authorization error codes").
struct MicrosoftErrorBody: Decodable {
    var error: String
    /// The numbers after `AADSTS`.
    var errorCodes: [Int]?
}
