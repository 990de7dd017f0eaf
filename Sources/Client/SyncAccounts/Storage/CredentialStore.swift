/// Where one account's credentials are kept from one start of a program to the next.
///
/// Readable without the person's help, also in the background. On Apple's platforms an app conforms its keychain; for
/// Linux there is ``FileCredentialStore``.
public protocol CredentialStore: Sendable {
    /// What is kept; `nil` if nothing is.
    /// - Throws: ``SignInError/Code/storageFailed``, ``SignInError/Code/storageInsecure``.
    func load() throws(SignInError) -> AccountCredentials?

    /// Keeps `credentials` in the place of what was kept; as a whole or not at all.
    func save(_ credentials: AccountCredentials) throws(SignInError)

    /// Forgets what was kept; harmless if nothing was.
    func remove() throws(SignInError)
}
