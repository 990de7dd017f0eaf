public import SyncServerConnection

/// Credentials that some other library has got and keeps fresh, such as Facebook's or Apple's.
public struct GivenCredentials: CredentialProvider {
    private let given: AccountCredentials

    public init(_ credentials: AccountCredentials) { given = credentials }

    public func credentials() async -> Credentials? { given.credentials }

    /// There is none.
    public func refresh(_ refused: Credentials) async throws -> Credentials {
        throw SignInError(.signInRequired, "no refresh available")
    }
}
