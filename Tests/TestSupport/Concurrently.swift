import Foundation
import MariaDB
import Synchronization

/// Runs `body` on `count` new threads that all start at the same moment, and returns their results.
///
/// Blocks until all threads have ended. Results are in the order of the threads' numbers, from 0 to `count - 1`.
public func concurrently<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (_ number: Int) throws -> Value
) -> [Result<Value, any Error>] {
    let box = OutcomeBox<Value>()
    let start = DispatchSemaphore(value: 0)
    let ready = DispatchGroup()
    let done = DispatchGroup()
    for number in 0..<count {
        ready.enter()
        done.enter()
        Thread.detachNewThread {
            ClientLibrary.threadStart()
            ready.leave()
            start.wait()
            let outcome = Result { try body(number) }
            box.outcomes.withLock { $0[number] = outcome }
            ClientLibrary.threadEnd()
            done.leave()
        }
    }
    ready.wait()
    for _ in 0..<count { start.signal() }
    done.wait()
    return box.outcomes.withLock { outcomes in (0..<count).compactMap { outcomes[$0] } }
}

/// The threads' results, protected by a shared lock.
private final class OutcomeBox<Value: Sendable>: Sendable {
    let outcomes = Mutex<[Int: Result<Value, any Error>]>([:])
}

extension Sequence {
    /// The values of the successful results.
    public func successes<Value>() -> [Value] where Element == Result<Value, any Error> {
        compactMap { try? $0.get() }
    }

    /// The errors of the failed results.
    public func failures<Value>() -> [any Error] where Element == Result<Value, any Error> {
        compactMap { result in
            guard case .failure(let error) = result else { return nil }
            return error
        }
    }
}
