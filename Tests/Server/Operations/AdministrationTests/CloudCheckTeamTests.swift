import Dispatch
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import Synchronization
import Testing

@testable import Operations

@Suite("Checking storage with several threads")
struct CloudCheckTeamTests {
    private struct Failure: Error {}

    private func task(_ owner: Int64, _ examine: @escaping @Sendable () throws -> Int) -> CloudCheckTask {
        CloudCheckTask(owner: UserID(owner)) { progress in
            var outcome = CloudCheckTask.Outcome()
            outcome.objects = try examine()
            progress(outcome.objects)
            outcome.folders = 1
            return outcome
        }
    }

    @Test("A hanging storage does not delay others, and is named while it hangs; outcomes are in order")
    func hanging() throws {
        let othersAreDone = DispatchSemaphore(value: 0)
        let count = Mutex(0)
        let hanging = task(1) {
            // Ends only because all others have been examined.
            #expect(othersAreDone.wait(timeout: .now() + 30) == .success)
            return 1
        }
        let others = (2...9).map { owner in
            task(Int64(owner)) {
                let done = count.withLock { count in
                    count += 1
                    return count
                }
                if done == 8 { othersAreDone.signal() }
                return 10
            }
        }
        var shown: [CloudCheckStatus] = []
        var settled: [Int64] = []

        let team = CloudCheckTeam([hanging] + others, folders: 5, objects: 100)
        try team.run(
            width: 2, tick: .milliseconds(1), progress: { shown.append($0) },
            settled: { task, outcome in
                settled.append(task.owner.rawValue)
                #expect(outcome.objects == (task.owner == UserID(1) ? 1 : 10))
            })

        #expect(settled == Array(1...9))
        #expect(shown.allSatisfy { (5...14).contains($0.folders) && (100...181).contains($0.objects) })
    }

    @Test("The status names storages that take a long time")
    func text() {
        let status = CloudCheckStatus(
            objects: 7, folders: 2, inProgress: [(UserID(4), .seconds(31)), (UserID(5), .seconds(1))])

        #expect(status.text == "7 objects checked, 2 folders done; still busy with user 4 (31 s)")
    }

    @Test("A failure ends the check after the work in progress, and no other work begins")
    func failure() {
        let begun = Mutex(0)
        let tasks = (1...100).map { owner in
            task(Int64(owner)) {
                begun.withLock { $0 += 1 }
                if owner == 2 { throw Failure() }
                return 0
            }
        }

        #expect(throws: Failure.self) {
            try CloudCheckTeam(tasks, folders: 0, objects: 0)
                .run(width: 1, progress: { _ in }, settled: { _, _ in })
        }
        #expect(begun.withLock { $0 } == 2)
    }

    @Test("Calls of tasks in progress are rejected when the check ends")
    func calls() {
        let calls = EndableCalls()
        let request = OutgoingRequest(.dropbox, .metadata, .get, "https://api.dropboxapi.com/")
        let calling = task(1) {
            let deadline = Deadline.after(.seconds(30))
            #expect(throws: TransportError.cancelled) {
                while !deadline.hasPassed { try calls.begin(request, by: deadline) }
            }
            return 0
        }

        #expect(throws: Failure.self) {
            try CloudCheckTeam([calling], calls: calls, folders: 0, objects: 0)
                .run(width: 1, tick: .milliseconds(1), progress: { _ in throw Failure() }, settled: { _, _ in })
        }
    }
}
