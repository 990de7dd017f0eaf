import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Decides whether expired identity tokens are accepted (Apple's).
///
/// An expired token is accepted only for an existing user who presented that very token before it expired.
struct IdentityTokens {
    let context: RequestContext

    /// Accepts an expired token if its user presented it before.
    /// - Throws: ``AccountError/rejected``.
    func admit(_ token: IdentityToken, of accountType: AccountType, _ providerUserID: String) throws {
        guard token.isExpired else { return }
        let user = try context.store.withSession { try $0.user(accountType, providerUserID, device: nil)?.user }
        guard let user, let kept = try vault.load(user, context.logger), kept.admits(token) else {
            throw AccountError.rejected
        }
    }

    /// Records that `user` has presented a token before it expired.
    ///
    /// Recording it twice changes nothing.
    /// - Throws: ``AccountError/rejected`` if it dates from before the person withdrew consent; ``StoreError``.
    func remember(_ token: IdentityToken, of user: UserRecord) throws {
        guard !token.isExpired else { return }
        try vault.update(user, context.logger) { kept in
            guard kept.admits(token) else { throw AccountError.rejected }
            return (kept.credentials ?? StoredCredentials()).remembering(token)
        }
    }

    private var vault: CredentialVault { context.services.storage.vault }
}
