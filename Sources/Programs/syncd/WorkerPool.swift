import MariaDB
import Posix
import Synchronization

/// Tells all threads of a process to stop.
final class StopFlag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}

/// Plain threads that all run the same body.
final class WorkerPool {
    private let stop = StopFlag()
    private let activities: [WorkerActivity]
    private var threads: [JoinableThread] = []

    /// Starts the threads.
    /// - Parameter body: runs in each of them, with its number from 0 on, until the flag is set.
    /// - Throws: ``PosixError`` if the system cannot create them.
    init(
        threads count: Int, name: String, _ body: @escaping @Sendable (Int, WorkerActivity, StopFlag) -> Void
    ) throws {
        activities = (0..<count).map { _ in WorkerActivity() }
        for (index, activity) in activities.enumerated() {
            let stop = stop
            threads.append(
                JoinableThread(
                    try WorkerThread(name: "\(name)-\(index)") {
                        ClientLibrary.threadStart()
                        body(index, activity, stop)
                        ClientLibrary.threadEnd()
                        activity.leave()
                    }))
        }
    }

    /// The longest time that any thread has handled a request without a byte moved.
    var longestTimeWithoutProgress: Duration { activities.map(\.timeWithoutProgress).max() ?? .zero }

    /// Whether a thread has ended without being asked to.
    var hasLostWorkers: Bool { !stop.isSet && activities.contains(where: \.hasLeft) }

    /// Lets every thread finish its request and end; when this returns true, all have ended.
    ///
    /// Threads that wait for a request are woken repeatedly until they have ended: a signal that arrives just before
    /// the wait begins is lost.
    /// - Returns: whether all have ended within `limit`.
    func drain(within limit: Duration, meanwhile: () -> Void = {}) -> Bool {
        stop.set()
        let end = ContinuousClock.now + limit
        while activities.contains(where: { !$0.hasLeft }) {
            guard ContinuousClock.now < end else { return false }
            for (thread, activity) in zip(threads, activities) where !activity.hasLeft { thread.wake() }
            meanwhile()
            Pause.sleep(.milliseconds(10))
        }
        for thread in threads { thread.join() }
        return true
    }
}
