import Accounts
import Logging
import Store
import SyncProtocol
import UserStorage

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
        let sealer = context.services.storage.sealer
        let userID = context.caller.userID
        for _ in 0..<Self.maximumAttempts {
            let sealed = try context.store.withSession { try $0.credentials(of: userID) }
            let stored = try sealed.map { try sealer.open($0.record, from: .user(userID)) } ?? StoredCredentials()
            guard let updated = try exchange.update(of: stored) else { return }
            let record = try sealer.seal(updated, for: .user(userID))
            let isStored = try context.store.transaction { session in
                try session.storeCredentials(record, of: userID, ifVersion: sealed?.version)
            }
            if isStored { return }
            guard try context.store.withSession({ try $0.user(userID) != nil }) else {
                throw EndpointError.userUnknown
            }
        }
        throw StoreError.busy
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
