public import SyncProtocol

/// Whether the server has the extensions that SyncServerII lacks: `commitId`, batches, `since` and entity tags of the
/// index, metadata in a body, and the endpoints that came later.
///
/// All of them were introduced in one release, which two signs identify: its replies to Index have an `etag`, and its
/// errors the header `syncserver-error-code`. A server that lacks extensions ignores their parameters, so they may
/// always be sent.
public enum ServerExtensions: Sendable, Hashable {
    /// No reply has shown it yet.
    case unknown
    /// The server is of an older generation, without extensions.
    case absent
    /// The server has extensions.
    case present
}

/// What a ``ServerConnection`` reports in addition to results and errors.
public enum ConnectionEvent: Sendable, Hashable {
    /// The server refused the credentials, and new ones are being requested.
    case refreshingCredentials
    /// There are no credentials that the server accepts. Reported once, until there are new ones.
    case signInRequired
    /// The server is temporarily closed (503), with the text at the maintenance message URL, if there is one.
    case serverUnavailable(message: String?)
    /// The minimum version of the iOS app that the operator still supports. Reported once for each version.
    case minimumIOSClientAppVersion(ServerVersion)
    /// It is now known whether the server has extensions.
    case extensions(ServerExtensions)
}
