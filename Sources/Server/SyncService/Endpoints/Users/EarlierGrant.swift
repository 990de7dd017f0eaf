import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// What an account had granted before its user was removed, as long as the provider has not been told.
///
/// An account that comes back keeps it: to revoke it would end the new user's tokens too, and Google gives a refresh token
/// only with the first consent after a revocation.
struct EarlierGrant {
    private static let pollInterval: Duration = .milliseconds(100)

    /// `nil` if nothing is waiting for its revocation.
    let credentials: StoredCredentials?
    private let accountType: AccountType
    private let providerUserID: String

    /// Looks for the grant of a person's account; waits while the provider is being told.
    /// - Throws: ``AccountError/timedOut`` if that takes until the request's deadline.
    init(of person: SignedInPerson, in context: RequestContext) throws {
        let (accountType, providerUserID) = (person.presented.accountType, person.profile.providerUserID)
        self.accountType = accountType
        self.providerUserID = providerUserID
        repeat {
            let pending = try context.store.withSession { session in
                try session.pendingRevocation(of: accountType, providerUserID)
            }
            switch pending {
            case .none: credentials = nil
            case .waiting(let record, let userID):
                credentials = try context.services.storage.vault.open(record, from: .user(userID), context.logger)
            case .underWay: continue
            }
            return
        } while context.services.storage.backoff.pause(Self.pollInterval, deadline: context.deadline)
        throw AccountError.timedOut
    }

    /// Makes sure that nobody revokes what the new user has. Call in the transaction that adds the user.
    /// - Throws: ``Lost`` if the provider has been told meanwhile; then what was granted must be looked at anew.
    func keep(in session: inout StoreSession) throws {
        let isKept = try session.cancelRevocations(
            of: accountType, providerUserID, isGrantKept: credentials != nil)
        guard isKept else { throw Lost() }
    }

    /// The grant was revoked between the question and the answer.
    struct Lost: Error {}

    /// Runs `body`, which adds a user, and once more from the beginning if a revocation got in between.
    static func settled<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch is Lost {}
        do { return try body() } catch is Lost { throw StoreError.busy }
    }
}
