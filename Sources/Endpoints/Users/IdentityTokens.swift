import Accounts
import Logging
import Store
import SyncProtocol
import UserStorage

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
        guard let user, let stored = try load(user.userID), stored.credentials.identity?.admits(token) == true else {
            throw AccountError.rejected
        }
    }

    /// Keeps in mind that `user` has shown a token before its end.
    ///
    /// Doing so twice changes nothing. If others keep changing the credentials it is left to the next request.
    /// - Throws: ``AccountError/rejected`` if it is from a time before the person withdrew their consent.
    func remember(_ token: IdentityToken, of user: UserID) throws {
        guard !token.isExpired else { return }
        for _ in 0..<Self.maximumAttempts {
            let stored = try load(user)
            if let record = stored?.credentials.identity, !record.admits(token) { throw AccountError.rejected }
            let credentials = stored?.credentials ?? StoredCredentials()
            guard let updated = credentials.remembering(token) else { return }
            let record = try context.services.storage.sealer.seal(updated, for: .user(user))
            let isStored = try context.store.transaction { session in
                try session.storeCredentials(record, of: user, ifVersion: stored?.version)
            }
            if isStored { return }
        }
        context.logger.info("Identity token not remembered: the credentials keep changing")
    }

    private func load(_ user: UserID) throws -> (credentials: StoredCredentials, version: Int64)? {
        guard let sealed = try context.store.withSession({ try $0.credentials(of: user) }) else { return nil }
        return (try context.services.storage.sealer.open(sealed.record, from: .user(user)), sealed.version)
    }
}
