/// Where requests get their credentials from, and what happens when the server refuses them.
public protocol AccountCredentialProvider: Sendable {
    /// The credentials as they are; `nil` if nobody is signed in. Asks nobody.
    func credentials() async -> AccountCredentials?

    /// New credentials in place of `refused`. Several callers at once cause one question to the provider.
    /// - Throws: ``SignInError/Code/signInRequired`` if only the person can help,
    ///   ``SignInError/Code/providerUnavailable`` if it may work later.
    func refresh(_ refused: AccountCredentials) async throws(SignInError) -> AccountCredentials
}

/// Credentials that some other library has got and keeps fresh, such as Facebook's or Apple's.
public struct GivenCredentials: AccountCredentialProvider {
    private let given: AccountCredentials

    public init(_ credentials: AccountCredentials) { given = credentials }

    public func credentials() async -> AccountCredentials? { given }

    /// There is none.
    public func refresh(_ refused: AccountCredentials) async throws(SignInError) -> AccountCredentials {
        throw SignInError(.signInRequired, "no refresh available")
    }
}
