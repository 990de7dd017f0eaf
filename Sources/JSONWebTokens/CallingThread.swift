internal import Dispatch
internal import Synchronization

/// Runs asynchronous code to its end on the thread that asks for it.
///
/// Our workers are plain threads that may block; what is run here is computation without a wait in it. Every step
/// of the task, those inside actors included, is run by the calling thread itself (SE-0417: a default actor's code
/// runs on the task's preferred executor), so no thread of Swift's cooperative pool is needed: none is started for it,
/// and callers that stand on one themselves, as tests do, cannot use the pool up and wait for each other for ever.
final class CallingThread: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let arrivals = DispatchSemaphore(value: 0)

    private init() {}

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        arrivals.signal()
    }

    /// Returns what `body` returns, or throws what it throws.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let executor = CallingThread()
        let outcome = Outcome<Value>()
        Task(executorPreference: executor) {
            do {
                outcome.set(.success(try await body()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        return try executor.work(until: outcome).get()
    }

    private func work<Value>(until outcome: Outcome<Value>) -> Result<Value, any Error> {
        while true {
            arrivals.wait()
            let job = jobs.withLock { $0.removeFirst() }
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            if let result = outcome.value { return result }
        }
    }

    /// Where the task leaves what came of it.
    private final class Outcome<Value: Sendable>: Sendable {
        private let result = Mutex<Result<Value, any Error>?>(nil)

        var value: Result<Value, any Error>? { result.withLock { $0 } }

        func set(_ result: Result<Value, any Error>) { self.result.withLock { $0 = result } }
    }
}
