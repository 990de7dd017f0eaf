internal import Synchronization

/// One thread of a ``WorkerPool``, as its body and the monitoring code see it.
public final class Worker: Sendable {
    private static let idle: Int64 = 0

    /// Unique in its pool; the first threads are numbered from 0.
    public let number: Int
    private let pool: WorkerPool
    private let started = ContinuousClock.now
    /// Milliseconds since `started` at the last progress; ``idle`` while the thread handles nothing.
    private let lastProgress = Atomic<Int64>(idle)
    fileprivate let mustEnd = Atomic(false)
    fileprivate let isServing = Atomic(false)
    fileprivate let hasLeft = Atomic(false)

    fileprivate init(number: Int, of pool: WorkerPool) {
        self.number = number
        self.pool = pool
    }

    /// Whether the body should return once it has finished its current work.
    public var isToEnd: Bool { mustEnd.load(ordering: .acquiring) }

    /// Does `work`, for which this thread has waited; if too few waiting threads are left, starts another one.
    public func serve<Failure: Error>(_ work: () throws(Failure) -> Void) throws(Failure) {
        pool.took(self)
        defer { pool.finished(self) }
        try work()
    }

    /// From now on, time without progress counts.
    public func begin() { progress() }
    public func progress() { lastProgress.store(max(1, now), ordering: .relaxed) }
    /// The thread is idle, or waits for a peer that may be slow.
    public func end() { lastProgress.store(Self.idle, ordering: .relaxed) }

    /// How long the current work has made no progress; zero if the thread is idle.
    fileprivate var timeWithoutProgress: Duration {
        let last = lastProgress.load(ordering: .relaxed)
        return last == Self.idle ? .zero : .milliseconds(now - last)
    }

    private var now: Int64 {
        let elapsed = started.duration(to: .now).components
        return elapsed.seconds * 1_000 + elapsed.attoseconds / 1_000_000_000_000_000
    }
}

/// Plain threads that all run the same body: some that wait for work, and as many more as needed.
public final class WorkerPool: Sendable {
    /// The number of threads.
    public struct Size: Sendable {
        /// Threads that wait for work; they are started at once.
        public var spare: Int
        public var maximum: Int

        /// - Parameters:
        ///   - spare: 1 or more; limited to the maximum.
        public init(spare: Int, maximum: Int) {
            self.maximum = max(1, maximum)
            self.spare = max(1, min(spare, self.maximum))
        }

        /// A constant number.
        public static func fixed(_ count: Int) -> Size { Size(spare: count, maximum: count) }
    }

    private struct Member {
        let worker: Worker
        let thread: JoinableThread
    }

    private struct State {
        var members: [Member] = []
        var nextNumber = 0
        /// Threads that wait for work, and their minimum since the last review.
        var spare = 0
        var leastSpare = 0
        var nextReview = ContinuousClock.now
        /// When to retry after the system could not create a thread.
        var nextAttempt = ContinuousClock.now
        var isStopping = false
        var hasLostWorkers = false
    }

    private let size: Size
    private let name: String
    private let stackBytes: Int
    private let reviewInterval: Duration
    private let failed: @Sendable (PosixError) -> Void
    private let body: @Sendable (Worker) -> Void
    private let state = Mutex(State())

    /// Starts the spare threads.
    /// - Parameters:
    ///   - name: the threads' name, followed by their number; truncated to 15 bytes.
    ///   - reviewInterval: how long an unneeded thread is kept.
    ///   - failed: called when the system cannot create a thread that is needed, at most once a second.
    ///   - body: runs in each thread until ``Worker/isToEnd``; ``Signals/waking`` must interrupt its waiting.
    /// - Throws: ``PosixError`` if the system cannot create the spare threads.
    public init(
        _ size: Size, name: String, stackBytes: Int = 512 * 1024, reviewInterval: Duration = .seconds(30),
        failed: @escaping @Sendable (PosixError) -> Void = { _ in }, _ body: @escaping @Sendable (Worker) -> Void
    ) throws(PosixError) {
        self.size = size
        self.name = name
        self.stackBytes = stackBytes
        self.reviewInterval = reviewInterval
        self.failed = failed
        self.body = body
        try state.withLock { state throws(PosixError) in
            state.nextReview = .now + reviewInterval
            for _ in 0..<size.spare { try addWorker(to: &state) }
            state.leastSpare = state.spare
        }
    }

    private func addWorker(to state: inout State) throws(PosixError) {
        let worker = Worker(number: state.nextNumber, of: self)
        let body = body
        let thread = try WorkerThread(name: "\(name)-\(worker.number)", stackBytes: stackBytes) {
            body(worker)
            worker.hasLeft.store(true, ordering: .releasing)
        }
        state.members.append(Member(worker: worker, thread: JoinableThread(thread)))
        state.nextNumber += 1
        state.spare += 1
    }

    fileprivate func took(_ worker: Worker) {
        let failure = state.withLock { state -> PosixError? in
            worker.isServing.store(true, ordering: .relaxed)
            guard !worker.isToEnd else { return nil }
            state.spare -= 1
            state.leastSpare = min(state.leastSpare, state.spare)
            guard state.spare < size.spare, state.members.count < size.maximum, !state.isStopping else { return nil }
            guard state.nextAttempt <= .now else { return nil }
            do throws(PosixError) {
                try addWorker(to: &state)
                return nil
            } catch {
                state.nextAttempt = .now + .seconds(1)
                return error
            }
        }
        if let failure { failed(failure) }
    }

    fileprivate func finished(_ worker: Worker) {
        state.withLock { state in
            worker.isServing.store(false, ordering: .relaxed)
            if !worker.isToEnd { state.spare += 1 }
        }
    }

    /// Ends threads that have not been needed for a while; call periodically, from one thread.
    public func review() {
        state.withLock { state in
            collect(&state)
            if state.nextReview <= .now, !state.isStopping {
                // Keeps some more than the spare threads, so that not every request starts a thread and ends another.
                let surplus = state.leastSpare - 2 * size.spare
                let waiting = state.members.lazy.map(\.worker).filter {
                    !$0.isServing.load(ordering: .relaxed) && !$0.isToEnd
                }
                for worker in waiting.prefix(max(0, surplus)) {
                    worker.mustEnd.store(true, ordering: .releasing)
                    state.spare -= 1
                }
                state.leastSpare = state.spare
                state.nextReview = .now + reviewInterval
            }
            // A signal that arrives just before the wait begins is lost; the next review sends another one.
            for member in state.members where member.worker.isToEnd { member.thread.wake() }
        }
    }

    /// Joins the threads that have ended.
    private func collect(_ state: inout State) {
        state.members.removeAll { member in
            guard member.worker.hasLeft.load(ordering: .acquiring) else { return false }
            if !member.worker.isToEnd { state.hasLostWorkers = true }
            member.thread.join()
            return true
        }
    }

    /// Number of threads.
    public var count: Int { state.withLock { $0.members.count } }

    /// The longest time without progress in any thread.
    public var longestTimeWithoutProgress: Duration {
        state.withLock { $0.members.map(\.worker.timeWithoutProgress).max() ?? .zero }
    }

    /// Whether a thread has ended without being asked to.
    public var hasLostWorkers: Bool {
        state.withLock { state in
            collect(&state)
            return state.hasLostWorkers
        }
    }

    /// Lets every thread finish its work and end; when this returns true, all have ended.
    ///
    /// Waiting threads are woken repeatedly until they have ended: a signal that arrives just before the wait begins is
    /// lost.
    /// - Parameter meanwhile: called repeatedly.
    /// - Returns: whether all have ended within `limit`.
    public func drain(within limit: Duration, meanwhile: () -> Void = {}) -> Bool {
        let end = ContinuousClock.now + limit
        while true {
            let isEmpty = state.withLock { state in
                state.isStopping = true
                for member in state.members { member.worker.mustEnd.store(true, ordering: .releasing) }
                collect(&state)
                for member in state.members { member.thread.wake() }
                return state.members.isEmpty
            }
            if isEmpty { return true }
            guard ContinuousClock.now < end else { return false }
            meanwhile()
            Pause.sleep(.milliseconds(10))
        }
    }
}
