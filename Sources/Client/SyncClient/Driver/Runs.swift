import SyncEngine
import SyncProtocol

/// The syncs that the app requested and that have not ended, kept in step with the engine's.
struct Runs {
    /// A sync that the app requested.
    struct Run {
        let id: UInt64
        let group: SharingGroupUUID?
        /// The last queue that was closed at the time of the request; the run receives its report only once that queue
        /// has been processed.
        var lastClosed: Int64 = 0
        var report = SyncReport()
        var continuation: CheckedContinuation<SyncReport, any Error>?
        /// Whether the engine has ended a sync since.
        var mayEnd = false
    }

    private(set) var active: [Run] = []
    private(set) var delayed: [Run] = []
    private var lastID: UInt64 = 0

    /// An id for a new run.
    mutating func makeID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// The engine begins a sync: that of a new request, otherwise of the oldest delayed one.
    mutating func begin(_ new: Run?) {
        if let new {
            active.append(new)
        } else if !delayed.isEmpty {
            active.append(delayed.removeFirst())
        }
    }

    mutating func delay(_ run: Run) {
        delayed.append(run)
    }

    mutating func updateActive(_ change: (inout SyncReport) -> Void) {
        for index in active.indices { change(&active[index].report) }
    }

    mutating func noteEnd() {
        for index in active.indices { active[index].mayEnd = true }
    }

    /// Removes the runs whose work the engine has completed; the others continue with the engine's next sync.
    mutating func takeEnded(unless goesOn: (Run) -> Bool) -> [Run] {
        var ended: [Run] = []
        var kept: [Run] = []
        for var run in active {
            if run.mayEnd, !goesOn(run) {
                ended.append(run)
            } else {
                run.mayEnd = false
                kept.append(run)
            }
        }
        active = kept
        return ended
    }

    /// Removes the delayed runs, which will not begin.
    mutating func takeDelayed() -> [Run] {
        defer { delayed = [] }
        return delayed
    }

    mutating func endAll() -> [Run] {
        defer {
            active = []
            delayed = []
        }
        return active + delayed
    }

    /// Stops waiting for a run; the run itself continues.
    mutating func takeContinuation(of id: UInt64) -> CheckedContinuation<SyncReport, any Error>? {
        for index in active.indices where active[index].id == id {
            defer { active[index].continuation = nil }
            return active[index].continuation
        }
        for index in delayed.indices where delayed[index].id == id {
            defer { delayed[index].continuation = nil }
            return delayed[index].continuation
        }
        return nil
    }
}
