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
    func respond(to request: CheckCredsRequest, in context: RequestContext) throws -> EndpointReply {
        let exchange = try CredentialExchange(context)
        let sealer = context.services.storage.sealer
        let userID = context.caller.userID
        let sealed = try context.store.withSession { try $0.credentials(of: userID) }
        let stored = try sealed.map { try sealer.open($0.record, from: .user(userID)) } ?? StoredCredentials()
        if let updated = try exchange.update(of: stored) {
            let record = try sealer.seal(updated, for: .user(userID))
            // If another process was faster its tokens are as new as ours.
            _ = try context.store.transaction { session in
                try session.storeCredentials(record, of: userID, ifVersion: sealed?.version)
            }
        }
        addReplacementToken(exchange, context)
        return .json(UserIDResponse(userId: userID))
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
