import HTTPTransport
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Synchronization
import Vault

/// Signs in people who present a user name and a password to a server that they name.
///
/// The server's word counts only if it would have refused somebody else. Before a password that has not proved anything yet
/// counts, the server is asked without a password, which nobody counts as a wrong one, and, once in a while, with one that
/// nobody has. If it shows the folder to them, nobody can sign up there; a person who is known proves who they are by
/// something that only the owner may do.
///
/// A server locks out the address from which wrong passwords come, and with it everybody who uses it through this server. So
/// refused passwords are limited for each server and user name, whoever presents them, for all processes together
/// (``PasswordTryLimit``). A password that has proved who the person is passes in any case, until it is refused.
struct PasswordSignIn: Sendable {
    /// A Nextcloud tolerates ten wrong passwords of one address in half an hour. A try comes back after half an hour, so that it
    /// gets no more than these within one: for people who are no users here, for users, and that are made up.
    private static let halfHour: Int64 = 1_800
    private static let triesOfStrangers: Int64 = 3
    private static let triesOfUsers: Int64 = 2
    private static let triesMadeUp: Int64 = 2
    /// Of one user name.
    private static let triesOfUserName: Int64 = 4
    /// After so many refusals of a user name, passwords that were refused are not sent again.
    private static let triesBeforeMemory: Int64 = 3
    /// For how long it is believed that a server refuses passwords that nobody has: an installation with one sign-in for all, and
    /// any other for one user name.
    private static let secondsOfRealm: Int64 = 86_400
    private static let secondsOfUserName: Int64 = 3_600

    let store: MetadataStore
    let vault: CredentialVault
    let memory: PasswordMemory
    let now: @Sendable () -> WireDate
    let logger: Logger

    /// What is known of the person whom a claim is about.
    private struct Standing {
        var user: UserRecord?
        /// Whether the password has proved who they are.
        var isProven: Bool
        /// Whether it is the one with which their storage is opened.
        var isStored: Bool
    }

    /// - Throws: ``AccountError``, ``EndpointError/tooManyFailedSignIns(retryAfter:)``, ``StoreError``.
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

    /// What was proved before is not any more: the next time the password counts as one that is new.
    private func note(refusalOf claim: PasswordClaim, _ standing: Standing) throws {
        memory.noteRefusal(of: claim.digest)
        guard let user = standing.user else { return }
        try vault.update(user, logger) { kept in
            guard let stored = kept.credentials, stored.isProven(claim.digest) else { return nil }
            return stored.refusing(claim.digest, isStored: standing.isStored, at: now().secondsSince1970)
        }
    }

    // MARK: Proof

    /// - Throws: ``AccountError/anyPasswordAccepted`` if the server's word proves nothing; ``AccountError/rejected`` if the
    ///   person could not show that they are the owner.
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
        // Whoever reads the folder need not be its owner.
        guard standing.user != nil, try refusesMadeUp(presented, claim, asking: .write, asker) else {
            throw AccountError.anyPasswordAccepted
        }
        if try account.refusesOwner(presented, through: client) { throw AccountError.rejected }
    }

    /// Of a password that has proved who the person is: makes sure, once in a while, that a server which shows the folder to
    /// everybody by now would still let them write there, if it lets only its owner.
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

    /// Whether the server refuses a password that nobody has, or was found to do so a short time ago.
    private func refusesMadeUp(
        _ presented: PresentedCredentials, _ claim: PasswordClaim, asking request: StrangersRequest,
        _ asker: (account: any PasswordAccounts, client: AccountClient)
    ) throws -> Bool {
        let word = "\(request)"
        let key = Self.key([claim.realm] + (claim.isRealmOfAllUsers ? [] : [claim.user]) + [word])
        if try store.withSession({ try $0.checksPasswords(key) }) { return true }
        let server = Self.key([claim.server, word])
        let limits = [madeUpLimit(of: claim)]
        do { try take(limits) } catch let error as EndpointError {
            // What the server has said of others' user names has to do for a while.
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
                throw EndpointError.tooManyFailedSignIns(retryAfter: delay)
            }
        }
    }

    private func giveBack(_ limits: [PasswordTryLimit]) {
        do {
            try store.transaction { try $0.giveBack(limits) }
        } catch {
            logger.info("Tries of a password not given back", metadata: .keyed([.reason: "\(error)"]))
        }
    }

    /// SHA-256 of what is counted; the parts have no line breaks.
    private static func key(_ parts: [String]) -> [UInt8] {
        IncrementalDigest.digest(of: Array(parts.joined(separator: "\n").utf8), .sha256)
    }
}

/// What this process knows of passwords, by their digests: which have proved something, which were refused, and which a server
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

    /// Whether the caller may ask about a password now; ``end(_:)`` follows then.
    /// - Parameter limit: of how many may at once.
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

    /// Whether the folder of a realm was not shown to somebody without a password a short time ago.
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
        // Without them, a server is asked once more.
        if passwords.count >= maximumPasswords { passwords.removeAll() }
        passwords[digest] = .now + time
    }
}
