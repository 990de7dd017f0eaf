import Dispatch
import HTTPTransport
import Logging
public import Providers
import Store
import SyncProtocol
import Synchronization

/// The access token of a user's current account, for all threads of one piece of work: read from the store when needed,
/// and renewed there when the provider rejects it.
///
/// One of the threads asks the provider, and the others wait for its result. Only one request of all processes asks at
/// a time (``RefreshLease``); if two still ask, the stored version decides which result is kept.
///
/// `@unchecked Sendable`: everything that changes is behind the mutex, and transports support many threads.
final class AccountTokens: AccessTokens, @unchecked Sendable {
    /// How long a new token serves the other threads without a query: longer than the time between the replies to
    /// requests sent together; short, since these threads notice the removal of the owner at their next query.
    static let sharingTime: Duration = .seconds(5)

    private struct State {
        /// The record for the first use by each thread.
        var beginning: CredentialVault.Kept?
        /// The number of threads that have not used the tokens yet.
        var beginners = 1
        /// The renewal in progress, which its thread leaves at the end.
        var turn: DispatchGroup?
        var latest: (rejected: String, token: AccessToken, at: ContinuousClock.Instant)?

        func shared(insteadOf rejected: String) -> AccessToken? {
            guard let latest, latest.rejected == rejected, latest.at.duration(to: .now) < sharingTime else {
                return nil
            }
            return latest.token
        }
    }

    private let user: UserRecord
    private let store: MetadataStore
    private let vault: CredentialVault
    private let account: any AccountProvider
    private let transport: Transport
    private let backoff: Backoff
    private let logger: Logger
    /// Locked during a query at most, never during a call to the provider.
    private let state = Mutex(State())

    init(
        user: UserRecord, store: MetadataStore, vault: CredentialVault, account: any AccountProvider,
        transport: Transport, backoff: Backoff, logger: Logger
    ) {
        self.user = user
        self.store = store
        self.vault = vault
        self.account = account
        self.transport = transport
        self.backoff = backoff
        self.logger = logger
    }

    var accountKey: Int64 { user.accountKey }
    private var service: String { account.accountType.rawValue }

    /// Called by each further thread before its first use, which shares the first query.
    func join() { state.withLock { $0.beginners += 1 } }

    func current() throws(CloudStorageError) -> AccessToken {
        guard let credentials = try checked({ try beginning() }).credentials else { throw .authorizationRevoked }
        let token = try account.usableToken(of: credentials)
        // The token was rejected and has not been used for a while: one request asks, for all, whether it is still
        // rejected.
        guard credentials.refusal == nil else {
            return try renewed(insteadOf: token.text, by: .after(RefreshLease.askingLimit), isRefusalKnown: true)
        }
        return token
    }

    /// Asks the provider for a new token, unless another thread or request already has a newer one or is renewing it;
    /// in the latter case waits for its result.
    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken {
        try renewed(insteadOf: rejected, by: deadline, isRefusalKnown: false)
    }

    /// - Parameter isRefusalKnown: whether the rejection is already recorded; in that case the same token counts as
    ///   renewed once the rejection has been cancelled.
    private func renewed(
        insteadOf rejected: String, by deadline: Deadline, isRefusalKnown: Bool
    ) throws(CloudStorageError) -> AccessToken {
        let ours = DispatchGroup()
        ours.enter()
        defer { ours.leave() }
        while true {
            let (shared, turn) = state.withLock { state -> (AccessToken?, DispatchGroup?) in
                if let token = state.shared(insteadOf: rejected) { return (token, nil) }
                defer { state.turn = state.turn ?? ours }
                return (nil, state.turn)
            }
            if let shared { return shared }
            guard let turn else { break }
            let end = DispatchTime.now() + .milliseconds(Int(deadline.remaining / .milliseconds(1)))
            guard backoff.inPlace(for: service, { turn.wait(timeout: end) }) == .success else {
                throw Self.notWaited(until: deadline)
            }
        }
        defer { state.withLock { $0.turn = nil } }
        let token = try renewedAlone(insteadOf: rejected, by: deadline, isRefusalKnown)
        // The same token again is a verdict on this thread's question only.
        if token.text != rejected {
            state.withLock { state in
                state.latest = (rejected, token, .now)
                // Threads that begin later need the new one.
                state.beginning = nil
            }
        }
        return token
    }

    /// Renews the token as the only thread of this piece of work.
    private func renewedAlone(
        insteadOf rejected: String, by deadline: Deadline, _ isRefusalKnown: Bool
    ) throws(CloudStorageError) -> AccessToken {
        var known: AccessToken?
        do {
            let turn = RefreshLease(of: user.userID, store: store, backoff: backoff, service: service)
            let renewed = try turn.take(by: deadline) {
                guard let stored = try load().credentials else { return false }
                if isRefusalKnown {
                    // Another request may have recorded a new rejection meanwhile.
                    let token = try account.usableToken(of: stored)
                    known = stored.refusal == nil ? token : nil
                } else {
                    known = stored.accessToken.flatMap { $0 == rejected ? nil : AccessToken($0, at: stored.location) }
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
        throw Self.notWaited(until: deadline)
    }

    /// The error of a thread that could not wait for another one to the end: its time is over, or no place is free.
    private static func notWaited(until deadline: Deadline) -> CloudStorageError {
        guard deadline.remaining <= RefreshLease.pollInterval else { return .withheld(.busy) }
        return .unavailable(detail: "token endpoint: another request has been asking for too long")
    }

    private func renew(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken {
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
            if let newer = try keep(fresh, renewedFrom: stored), newer.text != rejected { return newer }
        } catch {
            // The new token is still valid; the next request renews it again.
            logger.warning("Renewed token could not be stored", metadata: .keyed([.reason: "\(error)"]))
        }
        guard let token = fresh.usableToken else { throw .authorizationRevoked }
        return AccessToken(token, at: fresh.location ?? stored.location)
    }

    /// Stores the provider's new tokens in place of `old`.
    ///
    /// The stored tokens may have changed in the meantime (``StoredCredentials/updated(with:renewedFrom:)``).
    /// - Returns: the access token that is now stored.
    private func keep(_ fresh: StoredCredentials, renewedFrom old: StoredCredentials) throws -> AccessToken? {
        let updated = try vault.update(user, logger) { $0.credentials?.updated(with: fresh, renewedFrom: old) }
        guard let updated else { throw OwnerRemoved() }
        // A password that was stored meanwhile belongs to a different location than a bearer token.
        return updated.credentials.flatMap { stored in
            stored.accessToken.map { AccessToken($0, at: stored.location) }
        }
    }

    private func load() throws(CloudStorageError) -> CredentialVault.Kept {
        try checked { try vault.load(user, logger) }
    }

    /// The record for a thread's next use: the first thread reads and opens it for the first use of all, while the
    /// others wait; later uses read it again.
    private func beginning() throws -> CredentialVault.Kept? {
        try state.withLock { state in
            guard state.beginners > 0 else { return nil }
            state.beginners -= 1
            if state.beginning == nil { state.beginning = try vault.load(user, logger) }
            return state.beginning
        } ?? vault.load(user, logger)
    }

    /// The record that `read` returns.
    /// - Throws: ``CloudStorageError/localFailure(_:)`` with ``OwnerRemoved`` if the user no longer exists, or with
    ///   ``AccountSwitched`` if these tokens no longer belong to them: neither is a revoked authorization.
    ///   ``CloudStorageError/unavailable(detail:)`` if the tokens cannot be opened: the key may be restored, or the
    ///   owner may sign in again, whereas apps remember a reported revocation permanently.
    private func checked(
        _ read: () throws -> CredentialVault.Kept?
    ) throws(CloudStorageError) -> CredentialVault.Kept {
        let kept: CredentialVault.Kept?
        do { kept = try read() } catch { throw .localFailure(error) }
        guard let kept else { throw .localFailure(OwnerRemoved()) }
        if kept.isUnreadable && kept.credentials == nil { throw .unavailable(detail: "the tokens cannot be opened") }
        return kept
    }
}

/// The access token of an account that is not a user's current one: that of a removed user whose storage is being
/// cleared, one to which a user is about to switch, or one that a user has left and that is still read.
///
/// For use by one thread. If two instances renew the same stored tokens at once, the stored ones decide, as in
/// ``AccountTokens``.
final class HeldTokens: AccessTokens {
    let accountKey: Int64
    /// The tokens after the latest renewal.
    private(set) var credentials: StoredCredentials
    private let account: any AccountProvider
    private let transport: Transport
    private let backoff: Backoff
    private let keep: Keeping

    /// Stores renewed tokens (the first parameter) in place of the ones from which they were renewed (the second),
    /// since a provider may accept an old refresh token only once. Returns the tokens that are valid from then on.
    typealias Keeping = (StoredCredentials, StoredCredentials) throws -> StoredCredentials

    init(
        _ credentials: StoredCredentials, accountKey: Int64, account: any AccountProvider, transport: Transport,
        backoff: Backoff, keep: @escaping Keeping
    ) {
        self.credentials = credentials
        self.accountKey = accountKey
        self.account = account
        self.transport = transport
        self.backoff = backoff
        self.keep = keep
    }

    func current() throws(CloudStorageError) -> AccessToken {
        try account.usableToken(of: credentials)
    }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken {
        if let token = credentials.accessToken, token != rejected {
            return AccessToken(token, at: credentials.location)
        }
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
