public import SyncServerConnection

/// Credentials that another library obtains and keeps fresh, such as Facebook's or Apple's.
public struct GivenCredentials: CredentialProvider {
    private let given: AccountCredentials

    public init(_ credentials: AccountCredentials) { given = credentials }

    public func credentials() async -> Credentials? { given.credentials }

    /// Always throws: these credentials cannot be refreshed.
    public func refresh(_ refused: Credentials) async throws -> Credentials {
        throw SignInError(.signInRequired, "no refresh available")
    }
}
