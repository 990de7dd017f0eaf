import OpenSSLCrypto
import Providers
public import Store
import SyncProtocol
import Synchronization

/// The changes that this process has yet to signal, and the streams that it has admitted.
///
/// Shared by all threads. Nothing here waits, so a commit is as fast as without listeners: a ``ChangePublisher``
/// publishes the recorded changes.
public final class ChangeStreams: Sendable {
    /// The maximum number of groups and users that wait to be signalled; more are lost, which is harmless.
    private static let maximumNoted = 10_000
    /// The maximum number of streams remembered; the oldest are ended when there are more.
    private static let maximumStreams = 50_000
    /// How long a stream lasts before its right must be proved again. Random, so that clients do not connect all at
    /// once.
    private static let lifetimes = 3_000...3_600

    private struct Stream {
        let user: UserID
        let ends: ContinuousClock.Instant
    }

    private let noted = Mutex(CommittedChanges())
    private let lostCount = Atomic(0)
    private let streams = Mutex<[[UInt8]: Stream]>([:])
    private let ring: @Sendable () -> Void
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - ring: wakes the publisher.
    ///   - now: the clock, for tests to control.
    public init(
        ring: @escaping @Sendable () -> Void, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.ring = ring
        self.now = now
    }

    // MARK: Changes

    /// Records the changes of a transaction. If several changes to one group are waiting, they become one signal with
    /// the newest version.
    public func note(_ changes: CommittedChanges) {
        let hasPlace = noted.withLock { noted in
            guard noted.count + changes.count <= Self.maximumNoted else { return false }
            noted.add(changes)
            return true
        }
        if hasPlace { ring() } else { lostCount.add(changes.count, ordering: .relaxed) }
    }

    /// Everything recorded since the last call.
    func take() -> CommittedChanges {
        noted.withLock { noted in
            defer { noted = CommittedChanges() }
            return noted
        }
    }

    /// How many changes were lost since the last call because too many waited.
    func takeLost() -> Int { lostCount.exchange(0, ordering: .relaxed) }

    // MARK: Streams

    /// Records that a stream was admitted.
    func opened(by user: UserID, with presented: PresentedCredentials) {
        let now = now()
        let ended = streams.withLock { streams -> UserID? in
            let oldest =
                streams.count >= Self.maximumStreams ? streams.min { $0.value.ends < $1.value.ends } : nil
            if let oldest { streams[oldest.key] = nil }
            streams[Self.key(presented)] = Stream(user: user, ends: now + .seconds(Int.random(in: Self.lifetimes)))
            return oldest?.value.user
        }
        if let ended { end(of: [ended]) }
    }

    /// Ends the streams that were opened with a token that its provider now rejects. Streams of the same user with a
    /// valid token connect again.
    func end(with presented: PresentedCredentials) {
        let user = streams.withLock { $0[Self.key(presented)]?.user }
        if let user { end(of: [user]) }
    }

    /// Ends the streams whose right was proved long ago; call it regularly.
    func endOld() {
        let now = now()
        end(of: Set(streams.withLock { streams in streams.values.filter { $0.ends <= now }.map(\.user) }))
    }

    private func end(of users: Set<UserID>) {
        guard !users.isEmpty else { return }
        // All streams of a user end together.
        streams.withLock { streams in streams = streams.filter { !users.contains($0.value.user) } }
        var changes = CommittedChanges()
        changes.endedStreams = users
        note(changes)
    }

    private static func key(_ presented: PresentedCredentials) -> [UInt8] {
        IncrementalDigest.digest(of: Array(presented.identifyingText.utf8), .sha256)
    }
}
