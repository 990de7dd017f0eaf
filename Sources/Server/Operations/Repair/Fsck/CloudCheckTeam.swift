import Dispatch
import HTTPTransport
import MariaDB
import Posix
public import SyncProtocol
import Synchronization

/// The progress of a check of the clouds.
public struct CloudCheckStatus: Sendable {
    /// The number of files whose objects were examined.
    public var objects: Int
    public var folders: Int
    /// Owners whose storages are being examined, and the time so far.
    public var inProgress: [(owner: UserID, time: Duration)]

    /// The progress, and the owners that are being waited for, as text.
    public var text: String {
        let slow = inProgress.filter { $0.time >= .seconds(5) }.map {
            "user \($0.owner) (\($0.time.components.seconds) s)"
        }
        let waiting = slow.isEmpty ? "" : "; still busy with \(slow.joined(separator: ", "))"
        return "\(objects) objects checked, \(folders) folders done\(waiting)"
    }
}

/// The part of a check that concerns one owner's storage.
struct CloudCheckTask: Sendable {
    /// The findings of one part.
    struct Outcome: Sendable {
        var findings = CloudFindings()
        var objects = 0
        var folders = 0
        /// Whether the storage could be examined.
        var isComplete = true
    }

    let owner: UserID
    /// Receives a closure that it calls with the number of files so far.
    let examine: @Sendable (_ progress: @escaping (Int) -> Void) throws -> Outcome
}

/// Performs parts of a check of the clouds on several threads, so that a storage that hangs does not delay others, and
/// reports their progress.
final class CloudCheckTeam: Sendable {
    private struct State {
        var next = 0
        var outcomes: [Int: Result<CloudCheckTask.Outcome, any Error>] = [:]
        /// For each task in progress, its start and its number of files so far.
        var inProgress: [Int: (start: ContinuousClock.Instant, objects: Int)] = [:]
        var folders: Int
        var objects: Int
    }

    private let tasks: [CloudCheckTask]
    private let calls: EndableCalls
    private let state: Mutex<State>
    private let hasNews = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - calls: the tasks' calls to storages.
    ///   - folders: the number of folders examined before.
    ///   - objects: the number of objects examined before.
    init(_ tasks: [CloudCheckTask], calls: EndableCalls = EndableCalls(), folders: Int, objects: Int) {
        self.tasks = tasks
        self.calls = calls
        state = Mutex(State(folders: folders, objects: objects))
    }

    /// Performs all tasks.
    /// - Parameters:
    ///   - width: the number of tasks in parallel.
    ///   - tick: the interval at which the calling thread calls `progress`.
    ///   - settled: called by the calling thread with each task's outcome, in the order of the tasks.
    /// - Throws: the first error of a task, of `progress` or of `settled`, after the tasks in progress have ended; no
    ///   other tasks begin then, and ``calls`` rejects further calls.
    func run(
        width: Int, tick: DispatchTimeInterval = .seconds(5), progress: (CloudCheckStatus) throws -> Void,
        settled: (CloudCheckTask, CloudCheckTask.Outcome) throws -> Void
    ) throws {
        let threads = try (0..<min(width, tasks.count)).map { _ throws(PosixError) in
            JoinableThread(
                try WorkerThread(name: "cloud-check") { [self] in
                    ClientLibrary.threadStart()
                    defer { ClientLibrary.threadEnd() }
                    work()
                })
        }
        defer {
            state.withLock { $0.next = tasks.count }
            calls.end()
            for thread in threads { thread.join() }
        }
        var shown = DispatchTime.now() + tick
        for (index, task) in tasks.enumerated() {
            var outcome: Result<CloudCheckTask.Outcome, any Error>?
            while outcome == nil {
                outcome = state.withLock { $0.outcomes.removeValue(forKey: index) }
                if outcome == nil { _ = hasNews.wait(timeout: shown) }
                guard DispatchTime.now() >= shown else { continue }
                shown = .now() + tick
                try progress(status)
            }
            if let outcome { try settled(task, outcome.get()) }
        }
    }

    private var status: CloudCheckStatus {
        state.withLock { state in
            let now = ContinuousClock.now
            return CloudCheckStatus(
                objects: state.inProgress.values.reduce(state.objects) { $0 + $1.objects }, folders: state.folders,
                inProgress: state.inProgress.sorted { $0.key < $1.key }.map {
                    (owner: tasks[$0.key].owner, time: now - $0.value.start)
                })
        }
    }

    private func work() {
        while let index = begin() {
            let outcome = Result { () throws in
                try tasks[index].examine { [self] count in state.withLock { $0.inProgress[index]?.objects = count } }
            }
            state.withLock { state in
                state.inProgress[index] = nil
                state.outcomes[index] = outcome
                if case .success(let found) = outcome {
                    state.objects += found.objects
                    state.folders += found.folders
                } else {
                    state.next = tasks.count
                }
            }
            hasNews.signal()
        }
    }

    private func begin() -> Int? {
        state.withLock { state in
            guard state.next < tasks.count else { return nil }
            let index = state.next
            state.next += 1
            state.inProgress[index] = (.now, 0)
            return index
        }
    }
}

/// Calls that can be rejected once their results are no longer needed: at a slow pace, the calls for one folder can
/// take hours.
final class EndableCalls: TransportDecorator {
    private let haveEnded = Atomic(false)

    func begin(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) {
        if haveEnded.load(ordering: .relaxed) { throw .cancelled }
    }

    func end() { haveEnded.store(true, ordering: .relaxed) }
}

extension Transport {
    /// The same transport for a check, whose requests have short replies: a server that is silent for longer than
    /// `time` has failed. The limit for the beginning of a streamed reply is three times as long, because the provider
    /// first collects a long listing.
    func replyingWithin(_ time: Duration) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in try send(request, by: deadline.orAfter(time)) },
            stream: { request, deadline, head, body throws(TransportError) in
                try stream(request, by: deadline.orAfter(time * 3), head: head, body: body)
            })
    }
}
