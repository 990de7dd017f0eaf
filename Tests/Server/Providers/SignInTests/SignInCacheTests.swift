import Foundation
import HTTPTransport
import Posix
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@Suite("The sign-in cache")
struct SignInCacheTests {
    /// A clock that the test moves.
    final class Clock: Sendable {
        private let instant = Mutex(ContinuousClock.now)
        func advance(_ duration: Duration) { instant.withLock { $0 += duration } }
        var now: ContinuousClock.Instant { instant.withLock { $0 } }
    }

    let clock = Clock()
    let alice = SignInProfile(providerUserID: "alice", displayName: "Alice")

    private func cache(_ timeToLive: Duration = .seconds(60), maximumEntries: Int = 100) -> SignInCache {
        SignInCache(
            timeToLive: timeToLive, maximumEntries: maximumEntries, pause: { [clock] in clock.advance($0) },
            now: { [clock] in clock.now })
    }

    private func token(_ text: String, _ type: AccountType = .google) -> PresentedCredentials {
        PresentedCredentials(accountType: type, accessToken: text)
    }

    @Test("A result is valid for its time to live, and no longer [46] [47]")
    func timeToLive() {
        let cache = cache()
        cache.remember(alice, for: token("a"))

        #expect(cache.answer(for: token("a")) == .accepted(alice))
        clock.advance(.seconds(59))
        #expect(cache.answer(for: token("a")) == .accepted(alice))
        clock.advance(.seconds(1))
        #expect(cache.answer(for: token("a")) == nil)
    }

    @Test("A rejection is cached for 30 s, for that token only, and a later result replaces it")
    func rejection() {
        let cache = cache(.seconds(300))
        cache.rememberRejection(of: token("bad"))

        #expect(cache.answer(for: token("bad")) == .rejected(.rejected))
        #expect(cache.answer(for: token("bad", .dropbox)) == nil)
        clock.advance(.seconds(29))
        #expect(cache.answer(for: token("bad")) == .rejected(.rejected))
        clock.advance(.seconds(1))
        #expect(cache.answer(for: token("bad")) == nil)

        cache.rememberRejection(of: token("bare"))
        var withCode = token("bare")
        withCode.authorizationCode = "4/code"
        #expect(cache.answer(for: withCode) == nil)

        cache.rememberRejection(of: token("early"))
        cache.remember(alice, for: token("early"))
        #expect(cache.answer(for: token("early")) == .accepted(alice))
    }

    @Test("An accepted sign-in is settled until its renewal is due, or until it expires if it is never renewed")
    func settledTime() {
        let cache = cache()
        cache.remember(alice, for: token("renewed"))
        cache.remember(alice, for: token("from another process"), during: .seconds(50))
        cache.remember(alice, for: token("already over"), during: .zero)
        var profile = alice
        profile.tokenLifetime = .seconds(10)
        cache.remember(profile, for: token("short"))
        cache.rememberRejection(of: token("bad"))

        #expect(cache.settledTime(of: token("renewed")) == .seconds(45))
        #expect(cache.settledTime(of: token("from another process")) == .seconds(50))
        #expect(cache.settledTime(of: token("short")) == .seconds(10))
        for other in ["already over", "bad", "unknown"] { #expect(cache.settledTime(of: token(other)) == nil) }
        #expect(cache.answer(for: token("already over")) == nil)

        clock.advance(.seconds(45))
        #expect(cache.settledTime(of: token("renewed")) == nil)
        #expect(cache.beginRenewal(of: token("renewed")))
        #expect(!cache.beginRenewal(of: token("from another process")))
        clock.advance(.seconds(5))
        #expect(cache.answer(for: token("from another process")) == nil)
        cache.remember(alice, for: token("renewed"))
        #expect(cache.settledTime(of: token("renewed")) == .seconds(45))
    }

    @Test("A result is never valid longer than the token")
    func tokenLifetime() {
        let cache = cache()
        var profile = alice
        profile.tokenLifetime = .seconds(10)
        cache.remember(profile, for: token("short"))
        profile.tokenLifetime = .seconds(3_600)
        cache.remember(profile, for: token("long"))
        profile.tokenLifetime = .zero
        cache.remember(profile, for: token("dead"))

        #expect(cache.answer(for: token("dead")) == nil)
        clock.advance(.seconds(10))
        #expect(cache.answer(for: token("short")) == nil)
        #expect(cache.answer(for: token("long")) != nil)
        clock.advance(.seconds(50))
        #expect(cache.answer(for: token("long")) == nil)
    }

    @Test("A time to live of zero disables the cache")
    func off() {
        let cache = cache(.zero)
        cache.remember(alice, for: token("a"))

        #expect(cache.answer(for: token("a")) == nil)
    }

    @Test("A result is valid for its own account type only")
    func kinds() {
        let cache = cache()
        cache.remember(alice, for: token("a", .google))

        #expect(cache.answer(for: token("a", .facebook)) == nil)
        #expect(cache.answer(for: token("A", .google)) == nil)
        #expect(cache.answer(for: token("", .google)) == nil)
    }

    @Test("A full cache evicts the entries that expire first, and always keeps the newest")
    func bounded() {
        let cache = cache(maximumEntries: 8)
        for number in 0..<100 {
            cache.remember(alice, for: token("\(number)"))
            clock.advance(.milliseconds(1))
            #expect(cache.answer(for: token("\(number)")) == .accepted(alice))
        }

        let held = (0..<100).filter { cache.answer(for: token("\($0)")) != nil }
        #expect(held.count <= 8 && held.count >= 6)
        #expect(held.allSatisfy { $0 >= 92 })
    }

    @Test("Identities are never mixed up when many users sign in at once [48] [F18]")
    func concurrent() async throws {
        let cache = SignInCache(timeToLive: .seconds(60), maximumEntries: 64, pause: { Pause.sleep($0) })

        let isRight = try await Threads.run(8) { thread in
            for round in 0..<2_000 {
                let name = "user \(thread) \(round % 50)"
                let presented = PresentedCredentials(accountType: .google, accessToken: "token of \(name)")
                if case .accepted(let known) = cache.answer(for: presented), known.providerUserID != name {
                    return false
                }
                cache.remember(SignInProfile(providerUserID: name, displayName: name), for: presented)
            }
            return true
        }

        #expect(isRight.allSatisfy { $0 })
    }

    // MARK: Renewal

    @Test(
        "In an answer's last quarter one of the callers renews it; it is then valid for its whole time to live")
    func renewal() throws {
        let cache = cache()
        #expect(!cache.beginRenewal(of: token("a")))
        cache.remember(alice, for: token("a"))
        clock.advance(.seconds(44))
        #expect(!cache.beginRenewal(of: token("a")))
        clock.advance(.seconds(1))
        #expect(cache.beginRenewal(of: token("a")))
        #expect(!cache.beginRenewal(of: token("a")))

        _ = try cache.profile(for: token("a")) { alice }
        clock.advance(.seconds(44))
        #expect(cache.answer(for: token("a")) == .accepted(alice))
        #expect(!cache.beginRenewal(of: token("a")))
        clock.advance(.seconds(1))
        #expect(cache.beginRenewal(of: token("a")))
        clock.advance(.seconds(15))
        #expect(!cache.beginRenewal(of: token("a")))
    }

    @Test("A rejected renewal ends the acceptance; a renewal without an answer changes nothing")
    func failedRenewal() {
        let cache = cache()
        cache.remember(alice, for: token("a"))

        #expect(throws: AccountError.timedOut) { try cache.profile(for: token("a")) { throw AccountError.timedOut } }
        #expect(cache.answer(for: token("a")) == .accepted(alice))
        #expect(throws: AccountError.rejected) { try cache.profile(for: token("a")) { throw AccountError.rejected } }
        #expect(cache.answer(for: token("a")) == .rejected(.rejected))
    }

    @Test("Rejections are not renewed, nor are answers that end with their token")
    func notRenewed() {
        let cache = cache()
        var profile = alice
        profile.tokenLifetime = .seconds(10)
        cache.remember(profile, for: token("short"))
        cache.rememberRejection(of: token("bad"))
        clock.advance(.seconds(9))

        #expect(!cache.beginRenewal(of: token("short")))
        clock.advance(.seconds(20))
        #expect(!cache.beginRenewal(of: token("bad")))
    }

    // MARK: Shared requests

    @Test("Concurrent requests with the same token share one call to the provider")
    func oneQuestion() async throws {
        let waiting = Mutex<Set<ObjectIdentifier>>([])
        let asked = Mutex(0)
        let start = ContinuousClock.now
        let cache = SignInCache(
            timeToLive: .seconds(60),
            pause: { duration in
                waiting.withLock { _ = $0.insert(ObjectIdentifier(Thread.current)) }
                Pause.sleep(duration)
            },
            now: { start })

        let profiles = try await Threads.run(12) { [alice] _ in
            try cache.profile(for: token("new")) {
                asked.withLock { $0 += 1 }
                while waiting.withLock({ $0.count }) < 11 { Pause.sleep(.milliseconds(1)) }
                return alice
            }
        }

        #expect(profiles == Array(repeating: alice, count: 12))
        #expect(asked.withLock { $0 } == 1)
        #expect(cache.answer(for: token("new")) == .accepted(alice))
    }

    @Test("A result for one token is not used for another, nor for the same token with another code")
    func otherQuestions() throws {
        let cache = cache()
        var withCode = token("a")
        withCode.authorizationCode = "4/code"
        var asked: [String] = []

        _ = try cache.profile(for: token("a")) {
            _ = try cache.profile(for: token("b")) {
                asked.append("b")
                return alice
            }
            _ = try cache.profile(for: withCode) {
                asked.append("a with code")
                return alice
            }
            asked.append("a")
            return alice
        }

        #expect(asked == ["b", "a with code", "a"])
    }

    @Test(
        "Waiting callers share a failure, which is cached only if it is a rejection",
        arguments: [AccountError.rejected, .timedOut, .withheld(.busy)])
    func sharedFailure(error: AccountError) throws {
        let cache = cache()
        #expect(throws: error) {
            try cache.profile(for: token("a")) { throw error }
        }

        #expect(cache.answer(for: token("a")) == (error == .rejected ? .rejected(.rejected) : nil))
        #expect(try cache.profile(for: token("a")) { alice } == alice)
    }

    @Test("A caller sends its own request if the shared call is a second old or cancelled")
    func impatience() throws {
        struct Limited: Error {}
        let cache = cache()
        let start = clock.now
        var waited: Duration?

        // The clock advances when a caller waits.
        _ = try cache.profile(for: token("a")) {
            try cache.profile(for: token("a")) {
                waited = clock.now - start
                return alice
            }
        }
        #expect(waited == SignInCache.patience)

        #expect(throws: Limited.self) { try cache.profile(for: token("b")) { throw Limited() } }
        #expect(cache.answer(for: token("b")) == nil)
        #expect(try cache.profile(for: token("b")) { alice } == alice)
    }
}
