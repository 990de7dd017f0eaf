import Synchronization

/// Admits a limited number of tasks at a time; the others wait in order of arrival.
///
/// `URLSession` could do that with its limit of connections to one host. But FoundationNetworking (Swift 6.3) then
/// leaves some waiting requests idle until they time out, and counts the waiting time.
final class AdmissionGate: Sendable {
    private struct State {
        var free: Int
        var lastWaiter = 0
        var waiters: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state: Mutex<State>

    init(_ limit: Int) {
        precondition(limit > 0, "the limit must be positive")
        state = Mutex(State(free: limit))
    }

    /// Waits for admission, which must be released with ``leave()``; false, without one, if the task is cancelled.
    func enter() async -> Bool {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAdmitted: Bool? = state.withLock { state in
                    // The handler below may already have run, and found no waiting task.
                    if Task.isCancelled { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiters.append((number, continuation))
                    return nil
                }
                if let isAdmitted { continuation.resume(returning: isAdmitted) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }

    /// Passes the admission to the task that has waited longest.
    func leave() {
        let next = state.withLock { state in
            if state.waiters.isEmpty {
                state.free += 1
                return CheckedContinuation<Bool, Never>?.none
            }
            return state.waiters.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
