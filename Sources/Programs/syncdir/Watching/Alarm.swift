import Synchronization

/// Wakes one waiting task when its time is up or when ``ring()`` is called, even before the wait.
final class Alarm: Sendable {
    private struct State {
        var isRung = false
        var waiting: CheckedContinuation<Void, Never>?
        var number = 0
    }

    private let state = Mutex(State())

    /// Ends the wait, or the next one.
    func ring() {
        let waiting = state.withLock { state in
            let waiting = state.waiting
            state.waiting = nil
            state.isRung = waiting == nil
            return waiting
        }
        waiting?.resume()
    }

    /// Waits until ``ring()`` is called, at most `limit`.
    func wait(upTo limit: Duration) async {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        let timer = Task {
            try await Task.sleep(for: limit)
            timeIsUp(number)
        }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard !state.isRung else { return true }
                state.waiting = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
        timer.cancel()
        state.withLock { $0.isRung = false }
    }

    /// Does nothing if that wait has already ended.
    private func timeIsUp(_ number: Int) {
        let waiting = state.withLock { state in
            guard state.number == number else { return nil as CheckedContinuation<Void, Never>? }
            defer { state.waiting = nil }
            state.isRung = state.waiting == nil
            return state.waiting
        }
        waiting?.resume()
    }
}
