import OpenSSLCrypto
import SyncProtocol
import Synchronization

/// Remembers for a short time which token belongs to whom, and which is none, so that providers are not asked with every
/// request.
///
/// One per process, shared by its threads. Keys are hashes: a token is not kept.
public final class SignInCache: Sendable {
    /// What a provider said about a token.
    public enum Answer: Equatable, Sendable {
        case accepted(SignInProfile)
        case rejected
    }

    /// How long a rejection counts: enough against a phone that asks again and again, and short for one that was too early,
    /// by a clock that is ahead of the provider's.
    public static let rejectionTimeToLive: Duration = .seconds(30)

    private struct Entry {
        var answer: Answer
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

    /// What was found out about `presented` lately; `nil` if nothing.
    public func answer(for presented: PresentedCredentials) -> Answer? {
        let now = now()
        let keys = [Self.key(presented), Self.rejectionKey(presented)]
        return entries.withLock { entries in
            for key in keys {
                guard let entry = entries[key] else { continue }
                if entry.expires > now { return entry.answer }
                entries[key] = nil
            }
            return nil
        }
    }

    public func remember(_ profile: SignInProfile, for presented: PresentedCredentials) {
        remember(
            .accepted(profile), under: Self.key(presented), during: min(timeToLive, profile.tokenLifetime ?? timeToLive)
        )
    }

    public func rememberRejection(of presented: PresentedCredentials) {
        remember(.rejected, under: Self.rejectionKey(presented), during: Self.rejectionTimeToLive)
    }

    private func remember(_ answer: Answer, under key: [UInt8], during lifetime: Duration) {
        guard lifetime > .zero else { return }
        let now = now()
        entries.withLock { entries in
            if entries.count >= maximumEntries { Self.makeRoom(in: &entries, at: now) }
            entries[key] = Entry(answer: answer, expires: now + lifetime)
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

    /// Where a bare token proves nothing, the same token with another code may be accepted.
    private static func rejectionKey(_ presented: PresentedCredentials) -> [UInt8] {
        let text = presented.identifyingText + "\nrejected\n" + (presented.authorizationCode ?? "")
        return IncrementalDigest.digest(of: Array(text.utf8), .sha256)
    }

    private static func key(_ presented: PresentedCredentials) -> [UInt8] {
        IncrementalDigest.digest(of: Array(presented.identifyingText.utf8), .sha256)
    }
}
