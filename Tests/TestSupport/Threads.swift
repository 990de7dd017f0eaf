import Foundation
import Synchronization

/// Runs blocking work on separate threads, so that waiting tests do not starve each other.
public enum Threads {
    /// Runs `body` on a new thread and waits for its result.
    public static func run<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result(catching: body)) }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    /// Runs `body` on `count` threads that start together; the results are in the order of their numbers.
    public static func run<R: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> R
    ) async throws -> [R] {
        let gate = Gate(count)
        return try await withThrowingTaskGroup(of: (Int, R).self) { group in
            for number in 0..<count {
                group.addTask {
                    let result = try await run {
                        gate.passTogether()
                        return try body(number)
                    }
                    return (number, result)
                }
            }
            var results: [Int: R] = [:]
            for try await (number, result) in group { results[number] = result }
            return (0..<count).compactMap { results[$0] }
        }
    }
}

/// Holds threads back until all of them have arrived.
private final class Gate: Sendable {
    private let condition = NSCondition()
    private let missing: Mutex<Int>

    init(_ count: Int) { missing = Mutex(count) }

    func passTogether() {
        condition.lock()
        defer { condition.unlock() }
        missing.withLock { $0 -= 1 }
        condition.broadcast()
        while missing.withLock({ $0 > 0 }) { condition.wait() }
    }
}
