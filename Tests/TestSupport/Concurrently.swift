import Foundation
import MariaDB
import Synchronization

/// Runs `body` on `count` threads of their own, all starting at the same moment, and returns what each of them got.
///
/// Blocks until all have ended; results are in the order of the threads' numbers, 0 up to `count - 1`.
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

/// What the threads report, under a lock that they share.
private final class OutcomeBox<Value: Sendable>: Sendable {
    let outcomes = Mutex<[Int: Result<Value, any Error>]>([:])
}

extension Sequence {
    /// The values of those results that are successes.
    public func successes<Value>() -> [Value] where Element == Result<Value, any Error> {
        compactMap { try? $0.get() }
    }

    /// The errors of those results that are failures.
    public func failures<Value>() -> [any Error] where Element == Result<Value, any Error> {
        compactMap { result in
            guard case .failure(let error) = result else { return nil }
            return error
        }
    }
}
