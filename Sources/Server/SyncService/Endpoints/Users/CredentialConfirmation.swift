import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Asks a provider from time to time whether a user's stored credentials still count, where the server has to (Apple).
///
/// Of several requests at once one asks, as the provider allows it once a day; the others go on without.
struct CredentialConfirmation {
    /// How long to wait for a twin of this request that is asking.
    private static let waitLimit: Duration = .seconds(5)

    let userID: UserID
    let context: RequestContext
    let account: any AccountProvider

    /// Asks if it is time to. A provider that cannot be asked is asked again by the next request, and locks nobody out.
    /// - Throws: ``AccountError/revoked`` if the provider says that the person has withdrawn their consent; they must sign
    ///   in again, and no older token of theirs counts.
    func confirmIfDue() throws {
        guard try isDue() else { return }
        let turn = RefreshLease(
            of: userID, store: context.store, backoff: context.services.storage.backoff)
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
            context.logger.warning("Credentials not confirmed", metadata: .keyed([.reason: "\(error)"]))
        }
    }

    private func isDue() throws -> Bool {
        guard let stored = try load()?.credentials else { return false }
        return account.isConfirmationDue(stored)
    }

    private func update(_ change: (StoredCredentials) -> StoredCredentials) throws {
        try context.services.storage.vault.update(userID, context.logger) { kept in
            kept.credentials.map(change)
        }
    }

    private func load() throws -> CredentialVault.Kept? {
        try context.services.storage.vault.load(userID, context.logger)
    }
}
