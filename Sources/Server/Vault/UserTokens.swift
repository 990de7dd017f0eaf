public import HTTPTransport
import Logging
public import Providers
import Store
import SyncProtocol
import Synchronization

/// One user's access token: read from the store when needed, and renewed there when the provider rejects it.
///
/// Only one process at a time asks the provider (``RefreshLease``); if two still ask, the stored version decides which
/// result is kept.
final class UserTokens: AccessTokens {
    private let user: UserRecord
    private let store: MetadataStore
    private let vault: CredentialVault
    private let account: any AccountProvider
    private let transport: Transport
    private let backoff: Backoff
    private let logger: Logger
    /// The tokens for the first use, which need not be read then; `nil` after that.
    private var beginning: TokensAtBeginning?

    /// - Parameter beginning: shared by the threads that use the tokens at the beginning of the same request.
    init(
        user: UserRecord, store: MetadataStore, vault: CredentialVault, account: any AccountProvider,
        transport: Transport, backoff: Backoff, logger: Logger, beginning: TokensAtBeginning? = nil
    ) {
        self.user = user
        self.store = store
        self.vault = vault
        self.account = account
        self.transport = transport
        self.backoff = backoff
        self.logger = logger
        self.beginning = beginning
    }

    var accountKey: Int64 { user.accountKey }
    private(set) var location: String?

    func current() throws(CloudStorageError) -> String {
        guard let credentials = try load().credentials else { throw .authorizationRevoked }
        let token = try account.usableToken(of: credentials)
        // The token was rejected and has not been used for a while: one request asks, for all, whether it is still
        // rejected.
        guard credentials.refusal == nil else {
            return try renewed(insteadOf: token, by: .after(RefreshLease.askingLimit), isRefusalKnown: true)
        }
        return token
    }

    /// Asks the provider for a new token, unless another request already has a newer one or is renewing it; in the
    /// latter case waits for its result.
    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        try renewed(insteadOf: rejected, by: deadline, isRefusalKnown: false)
    }

    /// - Parameter isRefusalKnown: whether the rejection is already recorded; in that case the same token counts as
    ///   renewed once the rejection has been cancelled.
    private func renewed(
        insteadOf rejected: String, by deadline: Deadline, isRefusalKnown: Bool
    ) throws(CloudStorageError) -> String {
        var known: String?
        do {
            let turn = RefreshLease(
                of: user.userID, store: store, backoff: backoff, service: account.accountType.rawValue)
            let renewed = try turn.take(by: deadline) {
                guard let stored = try load().credentials else { return false }
                if isRefusalKnown {
                    // Another request may have recorded a new rejection meanwhile.
                    let token = try account.usableToken(of: stored)
                    known = stored.refusal == nil ? token : nil
                } else {
                    known = stored.accessToken.flatMap { $0 == rejected ? nil : $0 }
                }
                return known != nil
            } _: {
                try renew(insteadOf: rejected, by: deadline)
            }
            if let token = renewed ?? known { return token }
        } catch let error as CloudStorageError {
            throw error
        } catch {
            throw .localFailure(error)
        }
        guard deadline.remaining <= RefreshLease.pollInterval else { throw .withheld(.busy) }
        throw .unavailable(detail: "token endpoint: another request has been asking for too long")
    }

    private func renew(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        guard let stored = try load().credentials else { throw .authorizationRevoked }
        let fresh: StoredCredentials
        do {
            let client = AccountClient(
                transport: transport, deadline: deadline.orAfter(RefreshLease.askingLimit), backoff: backoff)
            fresh = try account.refresh(stored, through: client)
        } catch {
            throw CloudStorageError(ofRenewal: error)
        }
        if fresh.accessToken != stored.accessToken {
            logger.info("Access token renewed", metadata: .keyed([.owningUserID: "\(user.userID)"]))
        }
        do {
            if let newer = try keep(fresh, renewedFrom: stored), newer != rejected { return newer }
        } catch {
            // The new token is still valid; the next request renews it again.
            logger.warning("Renewed token could not be stored", metadata: .keyed([.reason: "\(error)"]))
        }
        guard let token = fresh.usableToken else { throw .authorizationRevoked }
        return token
    }

    /// Stores the provider's new tokens in place of `old`.
    ///
    /// The stored tokens may have changed in the meantime (``StoredCredentials/updated(with:renewedFrom:)``).
    /// - Returns: the access token that is now stored.
    private func keep(_ fresh: StoredCredentials, renewedFrom old: StoredCredentials) throws -> String? {
        let updated = try vault.update(user, logger) { $0.credentials?.updated(with: fresh, renewedFrom: old) }
        guard let updated else { throw OwnerRemoved() }
        // A password that was stored meanwhile belongs to a different location than a bearer token.
        location = updated.credentials?.location
        return updated.credentials?.accessToken
    }

    /// - Throws: ``CloudStorageError/localFailure(_:)`` with ``OwnerRemoved`` if the user no longer exists, or with
    ///   ``AccountSwitched`` if these tokens no longer belong to them: neither is a revoked authorization.
    ///   ``CloudStorageError/unavailable(detail:)`` if the tokens cannot be opened: the key may be restored, or the
    ///   owner may sign in again, whereas apps remember a reported revocation permanently.
    private func load() throws(CloudStorageError) -> CredentialVault.Kept {
        let kept: CredentialVault.Kept?
        do {
            kept = try beginning.take()?.record { try vault.load(user, logger) } ?? vault.load(user, logger)
        } catch { throw .localFailure(error) }
        guard let kept else { throw .localFailure(OwnerRemoved()) }
        location = kept.credentials?.location
        if kept.isUnreadable && kept.credentials == nil { throw .unavailable(detail: "the tokens cannot be opened") }
        return kept
    }
}

/// A user's stored tokens at the beginning of a request whose threads need them at the same time: the first thread
/// reads and opens the record for all.
final class TokensAtBeginning: Sendable {
    private let kept = Mutex<CredentialVault.Kept?>(nil)

    /// - Parameter load: reads the record, unless another thread has read it; threads wait for each other.
    /// - Returns: `nil` if the user does not exist.
    func record(_ load: () throws -> CredentialVault.Kept?) rethrows -> CredentialVault.Kept? {
        try kept.withLock { kept in
            if kept == nil { kept = try load() }
            return kept
        }
    }
}

/// The access token of an account that is not a user's current one: that of a removed user whose storage is being
/// cleared, one to which a user is about to switch, or one that a user has left and that is still read.
///
/// For use by one thread. If two instances renew the same stored tokens at once, the stored ones decide, as in
/// ``UserTokens``.
public final class HeldTokens: AccessTokens {
    public let accountKey: Int64
    /// The tokens after the latest renewal.
    public private(set) var credentials: StoredCredentials
    private let account: any AccountProvider
    private let transport: Transport
    private let backoff: Backoff
    private let keep: Keeping

    /// Stores renewed tokens (the first parameter) in place of the ones from which they were renewed (the second),
    /// since a provider may accept an old refresh token only once. Returns the tokens that are valid from then on.
    typealias Keeping = (StoredCredentials, StoredCredentials) throws -> StoredCredentials

    init(
        _ credentials: StoredCredentials, accountKey: Int64, account: any AccountProvider, transport: Transport,
        backoff: Backoff, keep: @escaping Keeping = { fresh, old in old.updated(with: fresh) }
    ) {
        self.credentials = credentials
        self.accountKey = accountKey
        self.account = account
        self.transport = transport
        self.backoff = backoff
        self.keep = keep
    }

    public var location: String? { credentials.location }

    public func current() throws(CloudStorageError) -> String {
        try account.usableToken(of: credentials)
    }

    public func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        if let token = credentials.accessToken, token != rejected { return token }
        let fresh: StoredCredentials
        do {
            let client = AccountClient(transport: transport, deadline: deadline, backoff: backoff)
            fresh = try account.refresh(credentials, through: client)
        } catch {
            throw CloudStorageError(ofRenewal: error)
        }
        do { credentials = try keep(fresh, credentials) } catch { throw .localFailure(error) }
        return try current()
    }
}

extension CloudStorageError {
    /// The meaning of a failed renewal of an access token for the operation that needed it.
    ///
    /// An authorization counts as revoked only if the provider reports that; not if the provider is unavailable, or if
    /// it rejects us rather than the person.
    public init(ofRenewal error: AccountError) {
        self =
            switch error {
            case .revoked, .rejected, .keyRejected, .codeRejected, .scopeMissing: .authorizationRevoked
            case .storageUnusable(.full): .quotaExceeded
            case .unavailable(let detail), .notAsked(_, let detail): .unavailable(detail: "token endpoint: \(detail)")
            case .addressDoubtful(let error): CloudStorageError(ofRenewal: error)
            case .withheld(let reason): .withheld(reason)
            case .timedOut: .timedOut
            case .misconfigured(let detail): .misconfigured(detail: detail)
            case .storageMissing(let detail), .malformedDetails(let detail), .rightMissing(let detail):
                .rejected(code: detail)
            case .serverNotAllowed: .serverNotAllowed
            case .storageUnusable(.termsNotAccepted): .termsNotAccepted
            case .anyPasswordAccepted, .storageUnusable: .rejected(code: "\(error)")
            }
    }
}
