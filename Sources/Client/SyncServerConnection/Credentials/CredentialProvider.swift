/// Provides a ``ServerConnection`` with the credentials of the app's user.
///
/// An app implements it on top of its sign-in. A ``ServerConnection`` asks for a refresh once for all requests that
/// were refused with the same credentials, and at most once for each request.
public protocol CredentialProvider: Sendable {
    /// The current credentials; nil if nobody is signed in. Called before each request: must not use the network.
    func credentials() async -> Credentials?

    /// Obtains new credentials to replace those that the server has refused, and stores them for ``credentials()``.
    /// - Throws: Any error, if new credentials require the user's help: the requests end with
    ///   ``ServerConnectionError/Code/signInRequired``. If the provider cannot be reached now, throw
    ///   ``CredentialRefreshFailure/unreachable``: the requests end with
    ///   ``ServerConnectionError/Code/credentialsUnavailable``, and may be retried later.
    func refresh(_ refused: Credentials) async throws -> Credentials

    /// Called when the server has accepted the credentials for a sign-in: CheckCreds, AddUser or
    /// RedeemSharingInvitation succeeded. The server has exchanged their authorization code, which must not be sent
    /// again. Does nothing by default.
    /// - Parameter newAccessToken: A longer-lived token to use from now on instead of the access token, if the server
    ///   sent one (Facebook).
    func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async
}

extension CredentialProvider {
    public func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async {}
}

/// The error that a ``CredentialProvider`` throws if a later refresh may succeed.
public enum CredentialRefreshFailure: Error, Sendable, Hashable {
    /// The account's provider did not answer, or asked the client to retry later.
    case unreachable
}
