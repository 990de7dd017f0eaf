import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Decides whether identity tokens count that outlive themselves (Apple's).
///
/// A token past its end counts only for an existing user who had shown that very token before its end.
struct IdentityTokens {
    let context: RequestContext

    /// Lets a token past its end pass if its user had shown it before.
    /// - Throws: ``AccountError/rejected``.
    func admit(_ token: IdentityToken, of accountType: AccountType, _ providerUserID: String) throws {
        guard token.isExpired else { return }
        let user = try context.store.withSession { try $0.user(accountType, providerUserID, device: nil)?.user }
        guard let user, let kept = try vault.load(user.userID, context.logger), kept.admits(token) else {
            throw AccountError.rejected
        }
    }

    /// Keeps in mind that `user` has shown a token before its end.
    ///
    /// Doing so twice changes nothing.
    /// - Throws: ``AccountError/rejected`` if it is from a time before the person withdrew their consent; ``StoreError``.
    func remember(_ token: IdentityToken, of user: UserID) throws {
        guard !token.isExpired else { return }
        try vault.update(user, context.logger) { kept in
            guard kept.admits(token) else { throw AccountError.rejected }
            return (kept.credentials ?? StoredCredentials()).remembering(token)
        }
    }

    private var vault: CredentialVault { context.services.storage.vault }
}
