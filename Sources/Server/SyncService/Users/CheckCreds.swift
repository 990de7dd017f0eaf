import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Reports which user the presented account has, and stores newer tokens.
///
/// May be repeated: a code that has been exchanged before is not exchanged again, and storing the same tokens twice
/// changes nothing.
struct CheckCredsEndpoint: Endpoint {
    func respond(
        to request: CheckCredsRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        let exchange = CredentialExchange(caller.person, context)
        try takeOver(exchange, caller, context)
        try CredentialConfirmation(user: caller.record, context: context, account: exchange.account).confirmIfDue()
        addReplacementToken(exchange, context)
        let identity = IdentityReport(to: caller.person, isWanted: request.reportIdentity, context)
        return .json(
            UserIDResponse(
                userId: caller.userID, identity: try identity.make(about: caller.userID, isProved: exchange.isProved)))
    }

    /// Stores the presented credentials if they are new.
    private func takeOver(
        _ exchange: CredentialExchange, _ caller: SignedInUser, _ context: RequestContext
    ) throws {
        let updated = try context.services.storage.vault.update(caller.record, context.logger) { kept in
            try exchange.newCredentials(besides: kept)
        }
        guard let updated else { throw Refusal(.userUnknown) }
        OfflineAccess.note(
            updated.credentials, of: exchange.presented.accountType, isNew: updated.isChanged, context)
    }
}

extension CheckCredsRequest: ServedRequest {
    typealias Handler = CheckCredsEndpoint
}

/// Adds the longer-lived token that some providers have for the phone; the reply is valid without one.
func addReplacementToken(_ exchange: CredentialExchange, _ context: RequestContext) {
    do {
        guard
            let token = try exchange.account.replacementToken(
                for: exchange.presented, through: context.accountClient)
        else { return }
        context.replyHeaders.append((name: ResponseHeader.accessToken.rawValue, value: token))
    } catch {
        context.logger.log(
            level: Logger.Level(ofFailure: error), "Could not obtain a longer-lived token",
            metadata: .keyed([.reason: "\(error)"]))
    }
}

/// Asks the provider from time to time whether a user's stored credentials are still valid, if the provider requires
/// that (Apple).
///
/// Only one of several concurrent requests asks, since the provider allows it once a day; the others continue without
/// the answer.
struct CredentialConfirmation {
    /// How long to wait for a concurrent request that is already asking.
    private static let waitLimit: Duration = .seconds(5)

    let user: UserRecord
    let context: RequestContext
    let account: any AccountProvider

    /// Asks if a confirmation is due. If the provider is unavailable, the next request asks again; nobody is locked
    /// out.
    /// - Throws: ``AccountError/revoked`` if the provider reports that the person has withdrawn consent; they must sign
    ///   in again, and none of their older tokens is accepted.
    func confirmIfDue() throws {
        guard try isDue() else { return }
        let turn = RefreshLease(
            of: user.userID, store: context.store, backoff: context.services.storage.backoff,
            service: account.accountType.rawValue)
        _ = try turn.take(by: context.deadline.orAfter(Self.waitLimit), unless: { try !isDue() }, confirm)
    }

    private func confirm() throws {
        guard let stored = try load()?.credentials else { return }
        let client = AccountClient(
            transport: context.transport, deadline: context.deadline.orAfter(RefreshLease.askingLimit),
            backoff: context.services.storage.backoff)
        do {
            let confirmed = try account.confirm(stored, through: client)
            try update { $0.updated(with: confirmed) }
        } catch AccountError.revoked {
            context.logger.notice("Consent withdrawn at the provider")
            try update { account.withdrawn($0) }
            throw AccountError.revoked
        } catch let error as AccountError {
            context.logger.log(
                level: Logger.Level(ofFailure: error), "Could not confirm credentials",
                metadata: .keyed([.reason: "\(error)"]))
        }
    }

    private func isDue() throws -> Bool {
        guard let stored = try load()?.credentials else { return false }
        return account.isConfirmationDue(stored)
    }

    private func update(_ change: (StoredCredentials) -> StoredCredentials) throws {
        try context.services.storage.vault.update(user, context.logger) { kept in
            kept.credentials.map(change)
        }
    }

    private func load() throws -> CredentialVault.Kept? {
        try context.services.storage.vault.load(user, context.logger)
    }
}
