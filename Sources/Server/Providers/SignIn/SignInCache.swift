import OpenSSLCrypto
import SyncProtocol
import Synchronization

/// Remembers briefly to whom a token belongs, or that it is invalid, so that providers are not asked for every request.
/// While a provider is being asked about a token, other requests with the same token wait for that answer, most of them
/// without a thread.
///
/// An answer that is about to expire is renewed while it is still valid (``beginRenewal(of:)``), so only the first
/// request with a token waits for the provider; later requests of an active user do not.
///
/// One cache per process, shared by its threads. Keys are hashes; tokens are not stored. No lock is held while a
/// provider is asked.
public final class SignInCache: Sendable {
    /// A provider's answer about a token.
    public enum Answer: Equatable, Sendable {
        case accepted(SignInProfile)
        /// With the error that rejected it.
        case rejected(AccountError)
    }

    /// How long a rejection is cached: long enough to absorb a phone's repeated requests, and short enough for a token
    /// that came too early because a clock is ahead of the provider's.
    public static let rejectionTimeToLive: Duration = .seconds(30)

    /// How long others wait for the answer to a pending question. After that they ask the provider themselves, subject
    /// to the limits of the `Bulkhead`: a provider that hangs must not hold every thread with the same token.
    public static let patience: Duration = .seconds(1)
    private static let pollInterval: Duration = .milliseconds(5)

    private struct Entry {
        var answer: Answer
        var expires: ContinuousClock.Instant
        /// When the answer may be renewed; `nil` if a renewal would not prolong it, or if it has already begun.
        var renewable: ContinuousClock.Instant?
        /// Until this time, the answer is neither dropped nor renewed, so nobody needs to ask about it.
        let settledUntil: ContinuousClock.Instant
    }

    /// Limits of requests that wait without a thread: for one answer, and for all answers.
    private static let maximumParked = 256
    private static let maximumParkedOfAll = 1_024

    /// Continues a request that waits without a thread, with the outcome; `nil` if nobody was asked.
    public typealias Continuation = @Sendable (Result<SignInProfile, AccountError>?) -> Void

    /// Thrown to a request that waits without a thread; it continues when there is an answer.
    public struct Parked: Error {}

    /// A pending question to a provider about a token.
    private final class Question: Sendable {
        enum Outcome {
            case answered(Result<SignInProfile, AccountError>)
            /// The provider was not asked, for a reason that concerns only the asking request.
            case withdrawn
        }

        private struct State {
            var outcome: Outcome?
            var parked: [Continuation] = []
        }

        let start: ContinuousClock.Instant
        /// Whether the asking thread continues the requests that wait without a thread.
        private let isParkingPlace: Bool
        private let state = Mutex(State())

        init(at start: ContinuousClock.Instant, isParkingPlace: Bool) {
            self.start = start
            self.isParkingPlace = isParkingPlace
        }

        var outcome: Outcome? { state.withLock { $0.outcome } }

        /// - Returns: whether `goOn` will be called; `false` if there is an outcome already, or if too many requests
        ///   wait.
        func park(_ goOn: @escaping Continuation) -> Bool {
            state.withLock { state in
                guard isParkingPlace, state.outcome == nil, state.parked.count < maximumParked else { return false }
                state.parked.append(goOn)
                return true
            }
        }

        /// - Returns: the requests that were waiting without a thread.
        func end(_ outcome: Outcome) -> [Continuation] {
            state.withLock { state in
                state.outcome = outcome
                defer { state.parked = [] }
                return state.parked
            }
        }
    }

    private let timeToLive: Duration
    private let maximumEntries: Int
    private let maximumWaiting: Int
    private let waiting = Atomic(0)
    private let parked = Atomic(0)
    private let pause: @Sendable (Duration) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let entries = Mutex<[[UInt8]: Entry]>([:])
    private let questions = Mutex<[[UInt8]: Question]>([:])

    /// - Parameters:
    ///   - timeToLive: how long an answer is cached, but never longer than the token is valid.
    ///   - maximumEntries: the size limit; if it is exceeded, the entries that expire first are evicted.
    ///   - maximumWaiting: the number of threads that may wait for another thread's question.
    ///   - pause: blocks the calling thread; tests pass a function that does not.
    ///   - now: the clock, for tests to control.
    public init(
        timeToLive: Duration, maximumEntries: Int = 20_000, maximumWaiting: Int = .max,
        pause: @escaping @Sendable (Duration) -> Void,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.timeToLive = timeToLive
        self.maximumEntries = maximumEntries
        self.maximumWaiting = maximumWaiting
        self.pause = pause
        self.now = now
    }

    /// The recent answer about `presented`, or `nil`.
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

    /// How long an acceptance will be neither dropped nor renewed; another process may rely on it for this long without
    /// asking this one. `nil` if that is unknown or zero.
    public func settledTime(of presented: PresentedCredentials) -> Duration? {
        let now = now()
        return entries.withLock { entries in
            guard let entry = entries[Self.key(presented)], entry.settledUntil > now else { return nil }
            return entry.settledUntil - now
        }
    }

    /// Whether the caller should ask the provider about the token again, with ``profile(for:asking:)``, although the
    /// acceptance is still valid: true once for each answer, in its last quarter.
    public func beginRenewal(of presented: PresentedCredentials) -> Bool {
        let now = now()
        let key = Self.key(presented)
        return entries.withLock { entries in
            guard let entry = entries[key], entry.expires > now, let renewable = entry.renewable, renewable <= now
            else { return false }
            entries[key]?.renewable = nil
            return true
        }
    }

    /// Determines who presents the token: calls `ask`, unless another thread is already asking about the same token.
    ///
    /// A burst of requests with a token that is new to the process thus causes one question to its provider, and the
    /// requests share its outcome; the answer about the token is cached. If `ask` throws an error that is not an
    /// ``AccountError``, the error is not shared.
    /// - Parameter goOn: called when another thread has an answer, if the request is to wait for it without a thread;
    ///   the calling thread then takes charge of the request. `nil` for background work; no request waits without a
    ///   thread for a question of such work.
    /// - Throws: ``Parked`` if `goOn` will be called; ``AccountError``; what `ask` throws.
    public func profile(
        for presented: PresentedCredentials, goOn: Continuation? = nil,
        asking ask: () throws -> SignInProfile
    ) throws -> SignInProfile {
        let key = Self.questionKey(presented)
        let own = Question(at: now(), isParkingPlace: goOn != nil)
        let earlier = questions.withLock { questions -> Question? in
            if let question = questions[key] { return question }
            questions[key] = own
            return nil
        }
        if let earlier {
            switch wait(for: earlier) {
            case .answered(let result): return try result.get()
            case .noPlace: if let goOn, park(goOn, at: earlier) { throw Parked() }
            case .none: break
            }
        }

        var outcome = Question.Outcome.withdrawn
        defer {
            questions.withLock { if $0[key] === own { $0[key] = nil } }
            let waiters = own.end(outcome)
            parked.subtract(waiters.count, ordering: .relaxed)
            let result: Result<SignInProfile, AccountError>? =
                if case .answered(let result) = outcome { result } else { nil }
            for goOn in waiters { goOn(result) }
        }
        do {
            let profile = try ask()
            remember(profile, for: presented)
            outcome = .answered(.success(profile))
            return profile
        } catch let error as AccountError {
            if error.isRejection { rememberRejection(of: presented, error) }
            outcome = .answered(.failure(error))
            throw error
        }
    }

    private func park(_ goOn: @escaping Continuation, at question: Question) -> Bool {
        guard parked.add(1, ordering: .relaxed).newValue <= Self.maximumParkedOfAll, question.park(goOn) else {
            parked.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    private enum Waiting {
        case answered(Result<SignInProfile, AccountError>)
        /// The limit of waiting threads is reached.
        case noPlace
        /// There is no answer, or none in time.
        case none
    }

    /// Waits for the answer to a question.
    private func wait(for question: Question) -> Waiting {
        defer { waiting.subtract(1, ordering: .relaxed) }
        let hasPlace = waiting.add(1, ordering: .relaxed).newValue <= maximumWaiting
        while true {
            switch question.outcome {
            case .answered(let result): return .answered(result)
            case .withdrawn: return .none
            case nil: break
            }
            guard hasPlace else { return .noPlace }
            guard now() - question.start < Self.patience else { return .none }
            pause(Self.pollInterval)
        }
    }

    /// Caches the answer of another process for as long as it may be relied on (``settledTime(of:)``).
    public func remember(_ profile: SignInProfile, for presented: PresentedCredentials, during time: Duration) {
        remember(.accepted(profile), under: Self.key(presented), during: time, isRenewable: false)
    }

    public func remember(_ profile: SignInProfile, for presented: PresentedCredentials) {
        // A new question does not extend the token's validity.
        let isBoundByToken = profile.tokenLifetime.map { $0 <= timeToLive } ?? false
        remember(
            .accepted(profile), under: Self.key(presented),
            during: min(timeToLive, profile.tokenLifetime ?? timeToLive),
            isRenewable: !isBoundByToken)
    }

    /// Replaces an earlier acceptance: the token has been revoked meanwhile.
    public func rememberRejection(of presented: PresentedCredentials, _ error: AccountError = .rejected) {
        entries.withLock { $0[Self.key(presented)] = nil }
        remember(
            .rejected(error), under: Self.rejectionKey(presented), during: Self.rejectionTimeToLive, isRenewable: false)
    }

    private func remember(_ answer: Answer, under key: [UInt8], during lifetime: Duration, isRenewable: Bool) {
        guard lifetime > .zero else { return }
        let now = now()
        entries.withLock { entries in
            if entries.count >= maximumEntries { Self.makeRoom(in: &entries, at: now) }
            let renewable = isRenewable ? now + lifetime * 3 / 4 : nil
            entries[key] = Entry(
                answer: answer, expires: now + lifetime, renewable: renewable,
                settledUntil: renewable ?? now + lifetime)
        }
    }

    /// Drops expired entries and, if those are less than a quarter, the quarter that expires next.
    private static func makeRoom(in entries: inout [[UInt8]: Entry], at now: ContinuousClock.Instant) {
        let target = entries.count * 3 / 4
        entries = entries.filter { $0.value.expires > now }
        guard entries.count > target else { return }
        for key in entries.sorted(by: { $0.value.expires < $1.value.expires }).prefix(entries.count - target).map(\.key)
        {
            entries[key] = nil
        }
    }

    /// Where a bare token proves nothing, the same token may be accepted with a different code.
    private static func rejectionKey(_ presented: PresentedCredentials) -> [UInt8] {
        let text = presented.identifyingText + "\nrejected\n" + (presented.authorizationCode ?? "")
        return IncrementalDigest.digest(of: Array(text.utf8), .sha256)
    }

    /// Identifies everything about which a provider may be asked.
    private static func questionKey(_ presented: PresentedCredentials) -> [UInt8] { rejectionKey(presented) }

    private static func key(_ presented: PresentedCredentials) -> [UInt8] {
        IncrementalDigest.digest(of: Array(presented.identifyingText.utf8), .sha256)
    }
}
