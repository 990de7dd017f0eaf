import SyncEngine
import SyncProtocol
import SyncServerConnection
import Synchronization

// Syncs requested by the app.
extension SyncDriver {
    /// Requests a sync; `continuation` receives its report.
    /// - Throws: What ``SyncServer/sync(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)`` throws; the
    ///   continuation is not used then.
    func sync(
        _ request: SyncRequest, id: UInt64, _ continuation: CheckedContinuation<SyncReport, any Error>? = nil
    ) throws(SyncError) {
        if let group = request.sharingGroupUUID { takeInbox(of: group) }
        try state.withLock { state throws(SyncError) in
            state.incoming = Runs.Run(id: id, group: request.sharingGroupUUID, continuation: continuation)
            defer { state.incoming = nil }
            try change(&state) { machine throws(SyncError) in ((), try machine.sync(request, at: now)) }
            guard var unused = state.incoming else { return }
            // Neither started nor delayed: all syncs are blocked, or the active one is about to stop.
            if let blocking = state.machine.blockingError {
                resume(unused, with: .failure(blocking), &state)
            } else {
                unused.report.wasStopped = true
                resume(unused, with: .success(unused.report), &state)
            }
        }
    }

    func makeRunID() -> UInt64 { state.withLock { $0.runs.makeID() } }

    /// Stops waiting for a sync; the sync itself continues.
    func stopWaiting(for id: UInt64) {
        let continuation = state.withLock { $0.runs.takeContinuation(of: id) }
        continuation?.resume(throwing: CancellationError())
    }

    /// Asks the active sync to end.
    func stop() {
        try? state.withLock { state throws(SyncError) in
            for var run in state.runs.takeDelayed() {
                run.report.wasStopped = true
                resume(run, with: .success(run.report), &state)
            }
            try change(&state) { machine throws(SyncError) in ((), machine.stop()) }
        }
    }

    /// Delivers a sync's result to its caller, after all earlier callbacks to the app.
    func resume(_ run: Runs.Run, with result: Result<SyncReport, SyncError>, _ state: inout State) {
        guard let continuation = run.continuation else { return }
        enqueue(&state) { continuation.resume(with: result.mapError { $0 as any Error }) }
    }
}

// Work that the app did not request.
extension SyncDriver {
    /// Sends closed queues that could not be sent yet.
    func resumePendingUploads() {
        takeInbox()
        try? change { machine throws(SyncError) in ((), machine.resumePendingUploads(at: now)) }
    }

    /// Handles events of the connection other than replies.
    func observe(_ event: ConnectionEvent) {
        switch event {
        case .extensions(let extensions): use(extensions)
        case .refreshingCredentials: events.send(.refreshingCredentials)
        case .minimumIOSClientAppVersion(let version): events.send(.minimumIOSClientVersion(version))
        case .transferRepeated: state.withLock { $0.machine.slowDown() }
        // For these, the engine ends the sync with an error.
        case .signInRequired, .serverUnavailable: break
        }
    }
}

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

    /// Removes the active and the delayed runs of a group.
    mutating func endAll(of group: SharingGroupUUID) -> [Run] {
        defer {
            active.removeAll { $0.group == group }
            delayed.removeAll { $0.group == group }
        }
        return (active + delayed).filter { $0.group == group }
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
