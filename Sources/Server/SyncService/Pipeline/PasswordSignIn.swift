import HTTPTransport
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Synchronization
import Vault

/// Signs in people who present a user name and a password for a server that they name.
///
/// The server's answer counts only if the server would have rejected somebody else. Before a new password counts, the
/// server is asked without a password, which no server counts as a wrong one, and, from time to time, with a made-up
/// one. If the server shows the folder to such requests, nobody can sign up there; an existing user proves who they are
/// by an action that only the owner may perform.
///
/// A server locks out the address that sends wrong passwords, and with it everybody who uses that server through this
/// one. So rejected passwords are limited for each server and user name, regardless of the sender, for all processes
/// together (``PasswordTryLimit``). A proven password always passes, until it is rejected.
struct PasswordSignIn: Sendable {
    /// Nextcloud tolerates ten wrong passwords from one address in half an hour. A try becomes available again after
    /// half an hour, so within that time a server gets at most these numbers of passwords of people who are not users
    /// here, of users' passwords, and of made-up ones.
    private static let halfHour: Int64 = 1_800
    private static let triesOfStrangers: Int64 = 3
    private static let triesOfUsers: Int64 = 2
    private static let triesMadeUp: Int64 = 2
    /// The maximum for one user name.
    private static let triesOfUserName: Int64 = 4
    /// After this many rejections of a user name, rejected passwords are not sent again.
    private static let triesBeforeMemory: Int64 = 3
    /// How long a server is assumed to reject made-up passwords: an installation with one sign-in for all user names,
    /// any other for one user name.
    private static let secondsOfRealm: Int64 = 86_400
    private static let secondsOfUserName: Int64 = 3_600

    let store: MetadataStore
    let vault: CredentialVault
    let memory: PasswordMemory
    let now: @Sendable () -> WireDate
    let logger: Logger

    /// What is known about the person named in a claim.
    private struct Standing {
        var user: UserRecord?
        /// Whether the password has proved who they are.
        var isProven: Bool
        /// Whether it is the password with which their storage is opened.
        var isStored: Bool
    }

    /// - Throws: ``AccountError``, ``ErrorCode/tooManyFailedSignIns``, ``StoreError``.
    func profile(
        of presented: PresentedCredentials, claiming claim: PasswordClaim, by account: any PasswordAccounts,
        through client: AccountClient
    ) throws -> SignInProfile {
        let standing = try standing(of: presented, claim)
        guard memory.begin(claim.digest, limit: standing.isProven ? 2 : 1) else { throw AccountError.withheld(.busy) }
        defer { memory.end(claim.digest) }
        if standing.isProven {
            do {
                let profile = try account.verify(presented, through: client)
                try requireThatServerWouldRefuse(presented, claim, by: account, through: client)
                return profile
            } catch let error as AccountError where error.refusesPassword {
                try note(refusalOf: claim, standing)
                throw error
            }
        }
        let limits = limits(of: claim, isUser: standing.user != nil)
        if try memory.wasRefused(claim.digest)
            && store.withSession({ try $0.triesTaken(of: limits[0]) }) >= Self.triesBeforeMemory
        {
            throw AccountError.rejected
        }
        try take(limits)
        do {
            let profile = try account.verify(presented, through: client)
            try prove(presented, claim, standing, by: account, through: client)
            memory.noteProof(of: claim.digest)
            giveBack(limits)
            return profile
        } catch let error as AccountError where error.refusesPassword {
            memory.noteRefusal(of: claim.digest)
            throw error
        } catch {
            giveBack(limits)
            throw error
        }
    }

    private func standing(of presented: PresentedCredentials, _ claim: PasswordClaim) throws -> Standing {
        let found = try store.withSession { try $0.user(presented.accountType, claim.identity, device: nil) }
        guard let user = found?.user, let stored = try vault.load(user, logger)?.credentials else {
            return Standing(user: found?.user, isProven: memory.isProven(claim.digest), isStored: false)
        }
        let isStored = stored.accessToken == presented.accessToken
        let isProven = stored.isProven(claim.digest) || memory.isProven(claim.digest)
        return Standing(user: user, isProven: isProven && !(isStored && stored.refusal != nil), isStored: isStored)
    }

    /// Revokes an earlier proof: next time, the password counts as new.
    private func note(refusalOf claim: PasswordClaim, _ standing: Standing) throws {
        memory.noteRefusal(of: claim.digest)
        guard let user = standing.user else { return }
        try vault.update(user, logger) { kept in
            guard let stored = kept.credentials, stored.isProven(claim.digest) else { return nil }
            return stored.refusing(claim.digest, isStored: standing.isStored, at: now().secondsSince1970)
        }
    }

    // MARK: Proof

    /// - Throws: ``AccountError/anyPasswordAccepted`` if the server's answer proves nothing; ``AccountError/rejected``
    ///   if the person could not prove that they are the owner.
    private func prove(
        _ presented: PresentedCredentials, _ claim: PasswordClaim, _ standing: Standing,
        by account: any PasswordAccounts, through client: AccountClient
    ) throws {
        let asker = (account: account, client: client)
        if try account.refuses(.anonymous, inPlaceOf: presented, asking: .look, through: client),
            try refusesMadeUp(presented, claim, asking: .look, asker)
        {
            return
        }
        // A person who can read the folder need not be its owner.
        guard standing.user != nil, try refusesMadeUp(presented, claim, asking: .write, asker) else {
            throw AccountError.anyPasswordAccepted
        }
        if try account.refusesOwner(presented, through: client) { throw AccountError.rejected }
    }

    /// For a proven password, if the server now shows the folder to everybody: checks from time to time that a server
    /// that lets only the owner write there still accepts this person.
    /// - Throws: ``AccountError/rejected``: the password was withdrawn.
    private func requireThatServerWouldRefuse(
        _ presented: PresentedCredentials, _ claim: PasswordClaim, by account: any PasswordAccounts,
        through client: AccountClient
    ) throws {
        guard !memory.isClosed(claim.realm) else { return }
        if try account.refuses(.anonymous, inPlaceOf: presented, asking: .look, through: client) {
            return memory.noteClosed(claim.realm)
        }
        let isWritingRefused = try refusesMadeUp(presented, claim, asking: .write, (account, client))
        if try isWritingRefused && account.refusesOwner(presented, through: client) { throw AccountError.rejected }
    }

    /// Whether the server rejects a made-up password, or recently did so.
    private func refusesMadeUp(
        _ presented: PresentedCredentials, _ claim: PasswordClaim, asking request: StrangersRequest,
        _ asker: (account: any PasswordAccounts, client: AccountClient)
    ) throws -> Bool {
        let word = "\(request)"
        let key = Self.key([claim.realm] + (claim.isRealmOfAllUsers ? [] : [claim.user]) + [word])
        if try store.withSession({ try $0.checksPasswords(key) }) { return true }
        let server = Self.key([claim.server, word])
        let limits = [madeUpLimit(of: claim)]
        do { try take(limits) } catch let error as Refusal {
            // The server's answers about other user names suffice for a while.
            if try store.withSession({ try $0.checksPasswords(server) }) { return true }
            throw error
        }
        let isRefused = try asker.account.refuses(
            .withMadeUpPassword, inPlaceOf: presented, asking: request, through: asker.client)
        guard isRefused else {
            giveBack(limits)
            return false
        }
        let seconds = claim.isRealmOfAllUsers ? Self.secondsOfRealm : Self.secondsOfUserName
        try store.transaction { session in
            try session.recordPasswordCheck(key, seconds: seconds)
            try session.recordPasswordCheck(server, seconds: Self.secondsOfUserName)
        }
        return true
    }

    // MARK: Limits

    private func limits(of claim: PasswordClaim, isUser: Bool) -> [PasswordTryLimit] {
        let server = Self.key([claim.server])
        return [
            PasswordTryLimit(
                .userName, Self.key([claim.server, claim.user]), burst: Self.triesOfUserName,
                intervalSeconds: Self.halfHour),
            isUser
                ? PasswordTryLimit(.users, server, burst: Self.triesOfUsers, intervalSeconds: Self.halfHour)
                : PasswordTryLimit(.strangers, server, burst: Self.triesOfStrangers, intervalSeconds: Self.halfHour),
        ]
    }

    private func madeUpLimit(of claim: PasswordClaim) -> PasswordTryLimit {
        PasswordTryLimit(
            .madeUp, Self.key([claim.server]), burst: Self.triesMadeUp, intervalSeconds: Self.halfHour)
    }

    private func take(_ limits: [PasswordTryLimit]) throws {
        try store.transaction { session in
            if case .exhausted(let delay) = try session.take(limits) {
                throw Refusal(.tooManyFailedSignIns, retryAfter: delay)
            }
        }
    }

    private func giveBack(_ limits: [PasswordTryLimit]) {
        do {
            try store.transaction { try $0.giveBack(limits) }
        } catch {
            logger.info("Could not undo the count of a password attempt", metadata: .keyed([.reason: "\(error)"]))
        }
    }

    /// SHA-256 of the counted subject; the parts contain no line breaks.
    private static func key(_ parts: [String]) -> [UInt8] {
        IncrementalDigest.digest(of: Array(parts.joined(separator: "\n").utf8), .sha256)
    }
}

/// What this process knows about passwords, by their digests: which are proven, which were rejected, and which a server
/// is being asked about. One per process, shared by its threads.
public final class PasswordMemory: Sendable {
    private static let provenTime: Duration = .seconds(86_400)
    private static let closedTime: Duration = .seconds(600)
    private static let refusedTime: Duration = .seconds(1_800)
    private static let maximumPasswords = 20_000

    private struct State {
        var proven: [String: ContinuousClock.Instant] = [:]
        var refused: [String: ContinuousClock.Instant] = [:]
        var closed: [String: ContinuousClock.Instant] = [:]
        var asking: [String: Int] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Whether the caller may ask about a password now; it must then call ``end(_:)``.
    /// - Parameter limit: the maximum number of simultaneous callers.
    func begin(_ digest: String, limit: Int) -> Bool {
        state.withLock { state in
            guard state.asking[digest, default: 0] < limit else { return false }
            state.asking[digest, default: 0] += 1
            return true
        }
    }

    func end(_ digest: String) {
        state.withLock { state in
            let left = state.asking[digest, default: 1] - 1
            state.asking[digest] = left > 0 ? left : nil
        }
    }

    func isProven(_ digest: String) -> Bool { state.withLock { Self.isPresent(digest, in: $0.proven) } }

    func wasRefused(_ digest: String) -> Bool { state.withLock { Self.isPresent(digest, in: $0.refused) } }

    /// Whether the folder of a realm was recently hidden from a request without a password.
    func isClosed(_ realm: String) -> Bool { state.withLock { Self.isPresent(realm, in: $0.closed) } }

    func noteClosed(_ realm: String) {
        state.withLock { Self.note(realm, in: &$0.closed, for: Self.closedTime) }
    }

    func noteProof(of digest: String) {
        state.withLock { state in
            state.refused[digest] = nil
            Self.note(digest, in: &state.proven, for: Self.provenTime)
        }
    }

    func noteRefusal(of digest: String) {
        state.withLock { state in
            state.proven[digest] = nil
            Self.note(digest, in: &state.refused, for: Self.refusedTime)
        }
    }

    private static func isPresent(_ digest: String, in passwords: [String: ContinuousClock.Instant]) -> Bool {
        passwords[digest].map { $0 > .now } ?? false
    }

    private static func note(
        _ digest: String, in passwords: inout [String: ContinuousClock.Instant], for time: Duration
    ) {
        if passwords.count >= maximumPasswords { passwords = passwords.filter { $0.value > .now } }
        // If they are dropped, a server is merely asked once more.
        if passwords.count >= maximumPasswords { passwords.removeAll() }
        passwords[digest] = .now + time
    }
}
