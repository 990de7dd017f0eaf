/// Where a ``ServerConnection`` gets the credentials of the person who uses the app.
///
/// An app implements it on top of its sign-in. A ``ServerConnection`` asks for a refresh once for all requests that were
/// refused with the same credentials, and at most once for each request.
public protocol CredentialProvider: Sendable {
    /// The credentials as they are; nil if nobody is signed in. Called before each request: no network here.
    func credentials() async -> Credentials?

    /// Gets new credentials in place of some that the server has refused, and keeps them for ``credentials()``.
    /// - Throws: Anything, if there are none without the person's help: the requests end with
    ///   ``ServerConnectionError/Code/signInRequired``; or if the provider cannot be reached now: throw
    ///   ``CredentialRefreshFailure/unreachable`` and they end with
    ///   ``ServerConnectionError/Code/credentialsUnavailable``, which is worth another try later.
    func refresh(_ refused: Credentials) async throws -> Credentials

    /// Notes that the server took the credentials at a sign-in: CheckCreds, AddUser or RedeemSharingInvitation succeeded.
    /// It has exchanged their authorization code, which must not be sent again. Does nothing by default.
    /// - Parameter newAccessToken: What is to be used from now on instead of the access token, if the server sent one: it
    ///   lives longer (Facebook).
    func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async
}

extension CredentialProvider {
    public func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async {}
}

/// What a ``CredentialProvider`` throws if a refresh may work later.
public enum CredentialRefreshFailure: Error, Sendable, Hashable {
    /// The account's provider did not answer, or asked to come back later.
    case unreachable
}
