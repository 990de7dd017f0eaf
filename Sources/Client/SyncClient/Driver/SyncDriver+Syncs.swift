import SyncEngine
import SyncProtocol
import SyncServerConnection
import Synchronization

// Syncs that the app asks for.
extension SyncDriver {
    /// Asks for a sync; `continuation` gets its report.
    /// - Throws: What ``SyncServer/sync(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)`` throws, without
    ///   having used the continuation.
    func sync(
        _ request: SyncRequest, id: UInt64, _ continuation: CheckedContinuation<SyncReport, any Error>? = nil
    ) throws(SyncError) {
        if let group = request.sharingGroupUUID { takeInbox(of: group) }
        try state.withLock { state throws(SyncError) in
            state.incoming = Runs.Run(id: id, group: request.sharingGroupUUID, continuation: continuation)
            defer { state.incoming = nil }
            try change(&state) { machine throws(SyncError) in ((), try machine.sync(request, at: now)) }
            guard var unused = state.incoming else { return }
            // Neither begun nor delayed: all syncs are blocked, or the active one is about to stop.
            if let blocking = state.machine.blockingError {
                resume(unused, with: .failure(blocking), &state)
            } else {
                unused.report.wasStopped = true
                resume(unused, with: .success(unused.report), &state)
            }
        }
    }

    func makeRunID() -> UInt64 { state.withLock { $0.runs.makeID() } }

    /// Lets the waiting for a sync end, not the sync.
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

    /// Hands a sync's result to who waits for it, after all that the app is told before.
    func resume(_ run: Runs.Run, with result: Result<SyncReport, SyncError>, _ state: inout State) {
        guard let continuation = run.continuation else { return }
        enqueue(&state) { continuation.resume(with: result.mapError { $0 as any Error }) }
    }
}

// What happens without the app.
extension SyncDriver {
    /// Sends what was closed and could not be sent yet.
    func resumePendingUploads() {
        takeInbox()
        try? change { machine throws(SyncError) in ((), machine.resumePendingUploads(at: now)) }
    }

    /// Takes note of what the connection says beside replies.
    func observe(_ event: ConnectionEvent) {
        switch event {
        case .extensions(let extensions): use(extensions)
        case .refreshingCredentials: events.send(.refreshingCredentials)
        case .minimumIOSClientAppVersion(let version): events.send(.minimumIOSClientVersion(version))
        // The engine ends the sync with an error for them.
        case .signInRequired, .serverUnavailable: break
        }
    }
}
