import Providers
import Logging
import Store
import SyncProtocol
import Vault

/// Decides whether identity tokens count that outlive themselves (Apple's).
///
/// A token past its end counts only for an existing user who had shown that very token before its end.
struct IdentityTokens {
    private static let maximumAttempts = 3

    let context: RequestContext

    /// Lets a token past its end pass if its user had shown it before.
    /// - Throws: ``AccountError/rejected``.
    func admit(_ token: IdentityToken, of accountType: AccountType, _ providerUserID: String) throws {
        guard token.isExpired else { return }
        let user = try context.store.withSession { try $0.user(accountType, providerUserID, device: nil)?.user }
        guard let user, let kept = try load(user.userID), kept.admits(token) else { throw AccountError.rejected }
    }

    /// Keeps in mind that `user` has shown a token before its end.
    ///
    /// Doing so twice changes nothing. If others keep changing the credentials it is left to the next request.
    /// - Throws: ``AccountError/rejected`` if it is from a time before the person withdrew their consent.
    func remember(_ token: IdentityToken, of user: UserID) throws {
        guard !token.isExpired else { return }
        for _ in 0..<Self.maximumAttempts {
            guard let kept = try load(user) else { return }
            guard kept.admits(token) else { throw AccountError.rejected }
            guard let updated = (kept.credentials ?? StoredCredentials()).remembering(token) else { return }
            if try context.services.storage.vault.keep(updated, of: user, over: kept) { return }
        }
        context.logger.info("Identity token not remembered: the credentials keep changing")
    }

    private func load(_ user: UserID) throws -> CredentialVault.Kept? {
        try context.services.storage.vault.load(user, context.logger)
    }
}
