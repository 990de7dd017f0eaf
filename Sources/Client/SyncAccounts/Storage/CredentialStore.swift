/// Stores one account's credentials between launches of a program.
///
/// Must be readable without user interaction, even in the background. On Apple's platforms an app's keychain wrapper
/// should conform; on Linux use ``FileCredentialStore``.
public protocol CredentialStore: Sendable {
    /// The stored credentials; `nil` if there are none.
    /// - Throws: ``SignInError/Code/storageFailed``, ``SignInError/Code/storageInsecure``.
    func load() throws(SignInError) -> AccountCredentials?

    /// Replaces the stored credentials with `credentials`, atomically.
    func save(_ credentials: AccountCredentials) throws(SignInError)

    /// Removes the stored credentials; does nothing if there are none.
    func remove() throws(SignInError)
}
