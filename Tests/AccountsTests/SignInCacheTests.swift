import Accounts
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
        SignInCache(timeToLive: timeToLive, maximumEntries: maximumEntries) { [clock] in clock.now }
    }

    private func token(_ text: String, _ type: AccountType = .google) -> PresentedCredentials {
        PresentedCredentials(accountType: type, accessToken: text)
    }

    @Test("An answer counts for its time to live, and not longer [46] [47]")
    func timeToLive() {
        let cache = cache()
        cache.remember(alice, for: token("a"))

        #expect(cache.answer(for: token("a")) == .accepted(alice))
        clock.advance(.seconds(59))
        #expect(cache.answer(for: token("a")) == .accepted(alice))
        clock.advance(.seconds(1))
        #expect(cache.answer(for: token("a")) == nil)
    }

    @Test("A rejection counts for half a minute, for that token only, and a later answer takes its place")
    func rejection() {
        let cache = cache(.seconds(300))
        cache.rememberRejection(of: token("bad"))

        #expect(cache.answer(for: token("bad")) == .rejected)
        #expect(cache.answer(for: token("bad", .dropbox)) == nil)
        clock.advance(.seconds(29))
        #expect(cache.answer(for: token("bad")) == .rejected)
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

    @Test("An answer counts never longer than the token lives")
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

    @Test("A time to live of zero remembers nothing")
    func off() {
        let cache = cache(.zero)
        cache.remember(alice, for: token("a"))

        #expect(cache.answer(for: token("a")) == nil)
    }

    @Test("A token counts for its own kind of account only")
    func kinds() {
        let cache = cache()
        cache.remember(alice, for: token("a", .google))

        #expect(cache.answer(for: token("a", .facebook)) == nil)
        #expect(cache.answer(for: token("A", .google)) == nil)
        #expect(cache.answer(for: token("", .google)) == nil)
    }

    @Test("A full cache makes room by what ends first, and the newest is always there")
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

    @Test("Identities are never mixed when many sign in at once [48] [F18]")
    func concurrent() async throws {
        let cache = SignInCache(timeToLive: .seconds(60), maximumEntries: 64)

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
}
