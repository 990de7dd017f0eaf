import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// The grant of an account from before its user was removed, as long as it has not been revoked at the provider.
///
/// An account that signs up again keeps it: revoking it would invalidate the new user's tokens too, and Google issues a
/// refresh token only with the first consent after a revocation.
struct EarlierGrant {
    private static let pollInterval: Duration = .milliseconds(100)

    /// `nil` if no grant is waiting to be revoked.
    let credentials: StoredCredentials?
    private let accountType: AccountType
    private let providerUserID: String

    /// Looks up the grant of a person's account, and waits if it is being revoked at the provider.
    /// - Throws: ``AccountError/timedOut`` if that takes longer than the request's deadline,
    ///   ``AccountError/withheld(_:)`` if too many others are waiting already.
    static func found(of person: SignedInPerson, in context: RequestContext) throws -> EarlierGrant {
        let (accountType, providerUserID) = (person.presented.accountType, person.profile.providerUserID)
        repeat {
            let pending = try context.store.withSession { session in
                try session.pendingRevocation(of: accountType, providerUserID)
            }
            let credentials: StoredCredentials?
            switch pending {
            case .none: credentials = nil
            case .waiting(let record, let userID):
                credentials = try context.services.storage.vault.open(record, from: .user(userID), context.logger)
            case .underWay: continue
            }
            return EarlierGrant(credentials: credentials, accountType: accountType, providerUserID: providerUserID)
        } while context.services.storage.backoff.pause(
            Self.pollInterval, deadline: context.deadline, for: accountType.rawValue)
        throw context.deadline.remaining > Self.pollInterval ? AccountError.withheld(.busy) : .timedOut
    }

    /// Prevents the revocation of the new user's grant. Call in the transaction that adds the user.
    /// - Throws: ``Lost`` if its revocation was requested in the meantime; the grant must then be looked up again.
    func keep(in session: inout StoreSession) throws {
        let isKept = try session.cancelRevocations(
            of: accountType, providerUserID, isGrantKept: credentials != nil)
        guard isKept else { throw Lost() }
    }

    /// The grant was revoked between the lookup and the transaction.
    struct Lost: Error {}

    /// Runs `body`, which adds a user; runs it once more from the beginning if a revocation happened in between.
    static func retryingOnceIfRevoked<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch is Lost {}
        do { return try body() } catch is Lost { throw StoreError.busy }
    }
}
