import OpenSSLCrypto
import SyncProtocol
import Synchronization

/// Remembers for a short time which token belongs to whom, so that providers are not asked with every request.
///
/// One per process, shared by its threads. Only successes are remembered. Keys are hashes: a token is not kept.
public final class SignInCache: Sendable {
    private struct Entry {
        var profile: SignInProfile
        var expires: ContinuousClock.Instant
    }

    private let timeToLive: Duration
    private let maximumEntries: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let entries = Mutex<[[UInt8]: Entry]>([:])

    /// - Parameters:
    ///   - timeToLive: how long an answer counts; never longer than the token itself.
    ///   - maximumEntries: beyond it the entries that end first make room.
    ///   - now: the clock; tests pass one that they move.
    public init(
        timeToLive: Duration, maximumEntries: Int = 20_000,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.timeToLive = timeToLive
        self.maximumEntries = maximumEntries
        self.now = now
    }

    /// The profile that was found for `presented` lately.
    public func profile(for presented: PresentedCredentials) -> SignInProfile? {
        let key = Self.key(presented)
        let now = now()
        return entries.withLock { entries in
            guard let entry = entries[key] else { return nil }
            guard entry.expires > now else {
                entries[key] = nil
                return nil
            }
            return entry.profile
        }
    }

    public func remember(_ profile: SignInProfile, for presented: PresentedCredentials) {
        let key = Self.key(presented)
        let lifetime = min(timeToLive, profile.tokenLifetime ?? timeToLive)
        guard lifetime > .zero else { return }
        let now = now()
        entries.withLock { entries in
            if entries.count >= maximumEntries { Self.makeRoom(in: &entries, at: now) }
            entries[key] = Entry(profile: profile, expires: now + lifetime)
        }
    }

    /// Drops what has expired, and if that is not a quarter, the quarter that expires next.
    private static func makeRoom(in entries: inout [[UInt8]: Entry], at now: ContinuousClock.Instant) {
        let target = entries.count * 3 / 4
        entries = entries.filter { $0.value.expires > now }
        guard entries.count > target else { return }
        for key in entries.sorted(by: { $0.value.expires < $1.value.expires }).prefix(entries.count - target).map(\.key)
        {
            entries[key] = nil
        }
    }

    private static func key(_ presented: PresentedCredentials) -> [UInt8] {
        IncrementalDigest.digest(of: Array(presented.identifyingText.utf8), .sha256)
    }
}
