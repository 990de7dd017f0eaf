import Synchronization

/// Lets a number of tasks through at once; the others wait in the order in which they came.
///
/// `URLSession` could do that, by its connections to one host. But the one of FoundationNetworking (Swift 6.3) then leaves some
/// of the waiting requests alone until their time is over, and counts the time that they wait.
final class AdmissionGate: Sendable {
    private struct State {
        var free: Int
        var lastWaiter = 0
        var waiters: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state: Mutex<State>

    init(_ limit: Int) {
        precondition(limit > 0, "somebody has to get through")
        state = Mutex(State(free: limit))
    }

    /// Waits for admission, which must be given back with ``leave()``; false, without one, if the task is cancelled.
    func enter() async -> Bool {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAdmitted: Bool? = state.withLock { state in
                    // The handler below may have run already, and found nobody.
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

    /// Gives the admission back, to who has waited longest.
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
