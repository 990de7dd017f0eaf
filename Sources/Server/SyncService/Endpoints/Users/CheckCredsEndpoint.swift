import Providers
import Logging
import Store
import SyncProtocol
import Vault

/// Says which user the presented account has, and takes over newer tokens.
///
/// May be repeated: a code that was exchanged before is not exchanged again, and storing the same tokens twice
/// changes nothing.
struct CheckCredsEndpoint: Endpoint {
    private static let maximumAttempts = 5

    func respond(to request: CheckCredsRequest, in context: RequestContext) throws -> EndpointReply {
        let exchange = try CredentialExchange(context)
        try takeOver(exchange, context)
        try CredentialConfirmation(context: context, account: exchange.account).confirmIfDue()
        addReplacementToken(exchange, context)
        return .json(UserIDResponse(userId: context.caller.userID))
    }

    /// Stores what is new in the presented credentials.
    ///
    /// If another request has stored something in between, what is new is worked out again on top of that: a refresh token
    /// that a code was exchanged for is never lost to an access token that came at the same time.
    private func takeOver(_ exchange: CredentialExchange, _ context: RequestContext) throws {
        let vault = context.services.storage.vault
        let userID = context.caller.userID
        for _ in 0..<Self.maximumAttempts {
            guard let kept = try vault.load(userID, context.logger) else { throw EndpointError.userUnknown }
            guard let updated = try newCredentials(exchange, kept) else {
                return OfflineAccess.note(kept.credentials, of: exchange.presented.accountType, isNew: false, context)
            }
            if try vault.keep(updated, of: userID, over: kept) {
                return OfflineAccess.note(updated, of: exchange.presented.accountType, isNew: true, context)
            }
        }
        throw StoreError.busy
    }

    /// What to store; `nil` if nothing is new.
    private func newCredentials(
        _ exchange: CredentialExchange, _ kept: CredentialVault.Kept
    ) throws -> StoredCredentials? {
        guard let stored = kept.credentials else { return try exchange.replacement(isReplacement: kept.isUnreadable) }
        // What came back with its key is stored anew in the place of the record that cannot be opened.
        return try exchange.update(of: stored) ?? (kept.isUnreadable ? stored : nil)
    }
}

/// Adds the longer-lived token that some providers have for the phone; without one the reply is as good.
func addReplacementToken(_ exchange: CredentialExchange, _ context: RequestContext) {
    do {
        guard
            let token = try exchange.account.replacementToken(
                for: exchange.presented, through: context.accountClient)
        else { return }
        context.replyHeaders.append((name: ResponseHeader.accessToken.rawValue, value: token))
    } catch {
        context.logger.warning("No longer-lived token", metadata: .keyed([.reason: "\(error)"]))
    }
}
