public import SyncProtocol

/// Whether the server has the extensions that are missing from SyncServerII: `commitId`, batches, `since` and entity
/// tags of the index, metadata in a body, and later endpoints.
///
/// All of them were introduced in one release, which two signs identify: its replies to Index have an `etag`, and its
/// errors have the header `syncserver-error-code`. A server without extensions ignores their parameters, so they may
/// always be sent.
public enum ServerExtensions: Sendable, Hashable {
    /// No reply has shown it yet.
    case unknown
    /// The server is of an older generation, without extensions.
    case absent
    /// The server has extensions.
    case present
}

/// Events that a ``ServerConnection`` reports in addition to results and errors.
public enum ConnectionEvent: Sendable, Hashable {
    /// The server refused the credentials, and new ones are being requested.
    case refreshingCredentials
    /// The server accepts none of the user's credentials. Reported once, until new ones are available.
    case signInRequired
    /// The server is temporarily closed (503), with the text at the maintenance message URL, if any.
    case serverUnavailable(message: String?)
    /// The minimum version of the iOS app that the operator still supports. Reported once for each version.
    case minimumIOSClientAppVersion(ServerVersion)
    /// It is now known whether the server has extensions.
    case extensions(ServerExtensions)
}
