import Synchronization
import Testing

@testable import SyncServerConnection

@Suite("Waiting for admission")
struct AdmissionGateTests {
    @Test("At most the permitted number is admitted at once, and everyone in the end")
    func limit() async {
        let gate = AdmissionGate(3)
        let inside = Occupancy()
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<50 {
                tasks.addTask {
                    #expect(await gate.enter())
                    inside.begin()
                    for _ in 0..<5 { await Task.yield() }
                    inside.end()
                    gate.leave()
                }
            }
        }
        #expect(inside.all == 50)
        #expect((1...3).contains(inside.most))
    }

    @Test("A cancelled task stops waiting, and does not consume an admission")
    func cancelled() async {
        let gate = AdmissionGate(1)
        #expect(await gate.enter())
        let waiting = Task { await gate.enter() }
        waiting.cancel()
        #expect(await waiting.value == false)

        let early = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await gate.enter()
        }
        #expect(await early.value == false)

        let next = Task { await gate.enter() }
        gate.leave()
        #expect(await next.value)
        gate.leave()
        #expect(await gate.enter())
    }
}

/// Counts the admitted tasks.
private final class Occupancy: Sendable {
    private let state = Mutex((now: 0, most: 0, all: 0))
    var most: Int { state.withLock { $0.most } }
    var all: Int { state.withLock { $0.all } }

    func begin() {
        state.withLock { state in
            state.now += 1
            state.all += 1
            state.most = max(state.most, state.now)
        }
    }

    func end() { state.withLock { $0.now -= 1 } }
}
