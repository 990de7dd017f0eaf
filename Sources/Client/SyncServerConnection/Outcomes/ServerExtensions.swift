public import SyncProtocol

/// Whether the server has what SyncServerII did not have: `commitId`, batches, `since` and entity tags of the index, metadata
/// in a body, and the endpoints that came later.
///
/// All of it came with one release, and two signs tell it apart: its replies to Index have an `etag`, and its errors the header
/// `syncserver-error-code`. Parameters of extensions are ignored by a server that lacks them, so that they may always be sent.
public enum ServerExtensions: Sendable, Hashable {
    /// No reply has told it yet.
    case unknown
    /// The server is of an older generation.
    case absent
    /// The server has them.
    case present
}

/// What a ``ServerConnection`` has to say beside results and errors.
public enum ConnectionEvent: Sendable, Hashable {
    /// The server refused the credentials, and new ones are asked for.
    case refreshingCredentials
    /// There are no credentials that the server accepts. Said once, until there are new ones.
    case signInRequired
    /// The server is closed for now (503), with the text at the address for that, if there is one.
    case serverUnavailable(message: String?)
    /// The least version of the iOS app that the operator wants to go on. Said once for each version.
    case minimumIOSClientAppVersion(ServerVersion)
    /// It turned out whether the server has extensions.
    case extensions(ServerExtensions)
}
