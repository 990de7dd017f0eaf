import Foundation
import HTTPTransport
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService
@testable import Vault

/// Many requests, each as in a separate process, find the same access token expired.
@Suite("Refreshing tokens, one at a time")
struct TokenRenewalTests {
    let server: TestServer
    let provider = RotatingProvider()
    let user: UserRecord

    init() throws {
        server = try TestServer()
        let reply = server.send(CheckCredsRequest(), as: try server.signUp())
        let userID = UserID(Int64(try #require(reply.json["userId"] as? Int)))
        user = try #require(try server.store.withSession { try $0.user(userID) })
        try store(StoredCredentials(accessToken: "access 0", refreshToken: "refresh 0"))
    }

    func store(_ credentials: StoredCredentials) throws {
        let record = try server.sealer.seal(credentials, for: .user(user.userID))
        _ = try server.store.transaction { try $0.storeCredentials(record, of: user.userID) }
    }

    private func stored() throws -> StoredCredentials {
        let sealed = try #require(try server.store.withSession { try $0.credentials(of: user.userID) })
        return try server.sealer.open(sealed.record, from: .user(user.userID))
    }

    var logger: Logger { Logger(label: "test", factory: { [log = server.log] _ in log }) }

    func tokens(
        places: SleepingPlaces? = nil, pause: @escaping @Sendable (Duration) -> Void = { _ in sched_yield() }
    ) -> AccountTokens {
        AccountTokens(
            user: user, store: server.store, vault: server.services.storage.vault, account: provider,
            transport: .unused, backoff: Backoff(places: places, pause: pause), logger: logger)
    }

    func failure(of use: () throws -> AccessToken) -> CloudStorageError? {
        do {
            _ = try use()
            return nil
        } catch { return error as? CloudStorageError }
    }

    private var lease: RefreshLease {
        RefreshLease(of: user.userID, store: server.store, backoff: Backoff(pause: { _ in sched_yield() }))
    }

    @Test("Each time, eight concurrent requests refresh once, and all get the new token")
    func once() async throws {
        for round in 1...5 {
            let waiting = WaitingThreads()
            // The provider answers only after the seven others have found that they must wait.
            provider.beforeAnswer { while waiting.count < 7 { sched_yield() } }

            let results = try await Threads.run(8) { number in
                let tokens = tokens { _ in
                    waiting.add(number)
                    sched_yield()
                }
                return try tokens.renewed(insteadOf: "access \(round - 1)", by: .after(.seconds(60))).text
            }

            #expect(Set(results) == ["access \(round)"])
            #expect(provider.calls == round)
            #expect(try stored().refreshToken == "refresh \(round)")
        }
    }

    @Test("A request waits while another process refreshes; if that process dies, the next one refreshes")
    func holder() async throws {
        let owner = "another process"
        let userID = user.userID
        func take(seconds: Int) throws -> Bool {
            try server.store.transaction { try $0.takeRefreshLease(of: userID, for: owner, seconds: seconds) }
        }
        #expect(try take(seconds: 30))
        do {
            _ = try tokens { _ in sched_yield() }.renewed(insteadOf: "access 0", by: .after(.milliseconds(300)))
            Issue.record("called although another process refreshes")
        } catch {
            guard case CloudStorageError.unavailable = error else { throw error }
        }
        #expect(provider.calls == 0)
        try server.store.transaction { try $0.endRefreshLease(of: userID, for: owner) }

        #expect(try take(seconds: 1))
        let token = try await Threads.run {
            try tokens { _ in sched_yield() }.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text
        }
        #expect(token == "access 1")
        #expect(provider.calls == 1)
    }

    @Test("If a provider returns only an access token, the refresh token is kept")
    func accessTokenAlone() throws {
        provider.givesAccessTokensOnly()

        #expect(try tokens().renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")

        #expect(try stored() == StoredCredentials(accessToken: "access 1", refreshToken: "refresh 0"))
    }

    @Test("Other data stored meanwhile are kept, and so is a refresh token that is issued only once")
    func changedMeanwhile() throws {
        try store(
            StoredCredentials(
                accessToken: "access 0", refreshToken: "refresh 0", codeHash: "of an earlier code",
                identity: IdentityRecord(tokenHashes: ["s"])))
        provider.beforeAnswer {
            try? store(
                StoredCredentials(
                    accessToken: "access 0", refreshToken: "refresh 0", codeHash: "of a code",
                    identity: IdentityRecord(tokenHashes: ["t"])))
        }

        #expect(try tokens().renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")

        let kept = try stored()
        #expect(kept.refreshToken == "refresh 1" && kept.accessToken == "access 1")
        #expect(kept.codeHash == "of a code" && kept.identity?.tokenHashes == ["t"])
    }

    @Test("A new sign-in that is stored meanwhile is kept")
    func signedInMeanwhile() throws {
        provider.beforeAnswer {
            try? store(StoredCredentials(accessToken: "from a code", refreshToken: "newest"))
        }

        #expect(try tokens().renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "from a code")

        #expect(try stored().refreshToken == "newest")
    }

    @Test("A refresh is logged without any token, whether or not the new one could be stored")
    func logged() throws {
        #expect(try tokens().renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")
        let userID = user.userID
        provider.beforeAnswer {
            _ = try? server.store.transaction { try $0.removeUser(userID, at: noon) }
        }
        #expect(try tokens().renewed(insteadOf: "access 1", by: .after(.seconds(20))).text == "access 2")

        #expect(server.log.lines("Access token renewed").count == 2)
        #expect(server.log.lines("Renewed token could not be stored").count == 1)
        for word in ["access 0", "access 1", "access 2", "refresh 0", "refresh 1", "refresh 2"] {
            #expect(!server.log.text.contains(word), "\(word)")
        }
    }

    @Test("Neither a removed user nor an unreadable record counts as a revoked authorisation")
    func notRevoked() throws {
        try server.execute("UPDATE users SET credentials = REVERSE(credentials)")
        for error in [
            failure { try tokens().current() },
            failure { try tokens().renewed(insteadOf: "a", by: .after(.seconds(5))) },
        ] {
            guard case .unavailable = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        let userID = user.userID
        _ = try server.store.transaction { try $0.removeUser(userID, at: noon) }
        for error in [
            failure { try tokens().current() },
            failure { try tokens().renewed(insteadOf: "a", by: .after(.seconds(5))) },
        ] {
            guard case .localFailure(let cause) = error, cause is OwnerRemoved else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(provider.calls == 0)
    }

    @Test("A failure releases the lease for the next request at once")
    func failure() throws {
        provider.failNext(with: .unavailable(detail: "down"))
        #expect(throws: CloudStorageError.self) {
            try tokens().renewed(insteadOf: "access 0", by: .after(.seconds(20)))
        }
        #expect(try tokens().renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")
        let isFree = try lease.take(by: .after(.seconds(5)), unless: { false }, { true })
        #expect(isFree == true)
    }

    /// Removes the user, whose storage still must be cleared.
    /// - Returns: the tokens as one process at a time reads them.
    private func departedTokens() throws -> () throws -> HeldTokens {
        let userID = user.userID
        try server.store.transaction { session in
            try session.addDeletion(
                of: "o", in: OwningUser(userID: userID, storageType: .google), availableAt: noon, at: noon)
            _ = try session.removeUser(userID, at: noon)
        }
        let vault = server.services.storage.vault
        let logger = logger
        return {
            HeldTokens(
                try storedOfDeparted(), accountKey: 0, account: provider, transport: .unused,
                backoff: Backoff(pause: { _ in })
            ) { try vault.keep($0, renewedFrom: $1, ofDeparted: userID, logger) }
        }
    }

    private func storedOfDeparted() throws -> StoredCredentials {
        let departed = try #require(try server.store.withSession { try $0.departedUser(user.userID) })
        return try server.sealer.open(departed.credentials, from: .user(user.userID))
    }

    @Test("A removed user's refreshed tokens are also stored, because the former ones may work only once")
    func departed() throws {
        let tokens = try departedTokens()()

        #expect(try tokens.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")

        #expect(try storedOfDeparted().refreshToken == "refresh 1")
    }

    @Test(
        "A recorded rejection does not replace tokens that another process has obtained meanwhile; those count instead"
    )
    func refusedMeanwhile() throws {
        let read = try departedTokens()
        let slow = try read()
        let fast = try read()
        let refused = StoredCredentials(
            accessToken: "access 0", refreshToken: "refresh 0", refusal: CredentialRefusal(firstAt: 0))
        #expect(try fast.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")
        provider.answerNext(with: refused)

        #expect(try slow.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")

        #expect(try storedOfDeparted() == StoredCredentials(accessToken: "access 1", refreshToken: "refresh 1"))
    }

    @Test("Tokens obtained after another process stored a rejection replace it")
    func refusedBefore() throws {
        let read = try departedTokens()
        let slow = try read()
        let fast = try read()
        let refused = StoredCredentials(
            accessToken: "access 0", refreshToken: "refresh 0", refusal: CredentialRefusal(firstAt: 0))
        provider.answerNext(with: refused)
        #expect(try fast.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 0")
        #expect(try storedOfDeparted() == refused)

        #expect(try slow.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")

        #expect(try storedOfDeparted() == StoredCredentials(accessToken: "access 1", refreshToken: "refresh 1"))
    }

    @Test("After an account switch no earlier request reads, renews or stores tokens of the new account")
    func switched() throws {
        let begun = tokens()
        #expect(try begun.current().text == "access 0")
        try server.store.withSession { session in
            try session.executeScript("UPDATE users SET account_epoch = account_epoch + 1")
        }

        for call in [{ try begun.current() }, { try begun.renewed(insteadOf: "access 0", by: .after(.seconds(5))) }] {
            #expect {
                _ = try call()
            } throws: { error in
                if case CloudStorageError.localFailure(let cause) = error { cause is AccountSwitched } else { false }
            }
        }
        #expect(throws: AccountSwitched.self) {
            try server.services.storage.vault.update(user, logger) { _ in StoredCredentials(accessToken: "old") }
        }
        #expect(provider.calls == 0)
    }

    @Test("A token refreshed by another process is used without a call")
    func renewedByOthers() throws {
        try store(StoredCredentials(accessToken: "access 9", refreshToken: "refresh 9"))
        #expect(try tokens().renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 9")
        #expect(provider.calls == 0)
    }
}

/// The threads that had to wait, each counted once.
final class WaitingThreads: Sendable {
    private let numbers = Mutex<Set<Int>>([])
    func add(_ number: Int) { numbers.withLock { _ = $0.insert(number) } }
    var count: Int { numbers.withLock { $0.count } }
}

/// A provider whose refresh tokens work once; an old one is rejected permanently.
final class RotatingProvider: AccountProvider {
    private struct State {
        var generation = 0
        var beforeAnswer: (@Sendable () -> Void)?
        var failure: AccountError?
        var givesAccessTokensOnly = false
        var answer: StoredCredentials?
    }
    private let state = Mutex(State())

    var accountType: AccountType { .google }
    var acceptsPasswords: Bool { false }
    /// The number of times that new tokens were issued.
    var calls: Int { state.withLock { $0.generation } }

    func beforeAnswer(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.beforeAnswer = body } }
    func givesAccessTokensOnly() { state.withLock { $0.givesAccessTokensOnly = true } }
    func failNext(with error: AccountError) { state.withLock { $0.failure = error } }

    func answerNext(with credentials: StoredCredentials) { state.withLock { $0.answer = credentials } }

    func checkRegistration(through client: AccountClient) throws(AccountError) {}

    func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        let answer = state.withLock { $0.answer.take() }
        if let answer { return answer }
        let failure = state.withLock { $0.failure.take() }
        if let failure { throw failure }
        let generation = state.withLock { state in
            guard stored.refreshToken == "refresh \(state.generation)" else { return -1 }
            state.generation += 1
            return state.generation
        }
        guard generation > 0 else { throw .revoked }
        state.withLock { $0.beforeAnswer.take() }?()
        guard !state.withLock({ $0.givesAccessTokensOnly }) else {
            return StoredCredentials(accessToken: "access \(generation)")
        }
        return StoredCredentials(accessToken: "access \(generation)", refreshToken: "refresh \(generation)")
    }

    func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile { throw .rejected }

    func credentials(from presented: PresentedCredentials) -> StoredCredentials { StoredCredentials() }
}
