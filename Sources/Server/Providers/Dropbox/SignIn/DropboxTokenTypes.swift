// Members are named as on the wire, but in camel case.

/// Reply of `users/get_current_account`.
struct DropboxUser: Decodable {
    struct Name: Decodable {
        var displayName: String?
    }
    /// `dbid:…`; identifies the person permanently.
    var accountId: String
    var name: Name?
}
