package import SyncProtocol

// Repairs the state after an interrupted process.
extension SyncStateMachine {
    /// Repairs the last process's unfinished work. Must be called first.
    package mutating func launch(at now: WireDate) -> [EngineAction] {
        self.now = now
        if state.openQueue == nil { openQueue() }
        repairInFlight()
        for item in state.items.rows(where: { state.queues[$0.queueID] == nil }) { removeItem(item) }
        for queue in state.queues.rows(where: { $0.state != .open }) where !state.items.contains(at: .queue(queue.id)) {
            state.queues[queue.key] = nil
        }
        let oldest = now.secondsSince1970 - TransferCacheEntry.lifetimeSeconds
        for entry in state.transfers.rows(where: { $0.cachedAt.secondsSince1970 < oldest }) {
            state.transfers[entry.key] = nil
            actions.append(.removeFile(entry.location))
        }
        return takeActions()
    }

    /// Marks all operations in progress as not started.
    mutating func repairInFlight() {
        for item in state.items.rows(at: .inFlight) {
            state.items.update(item.key) { $0.status = .notStarted }
        }
        for item in state.downloads.rows(at: .inFlight) {
            state.downloads.update(item.key) { $0.status = .notStarted }
        }
        for item in state.reuploads.rows(at: .status(.uploading)) {
            state.reuploads.update(item.key) { $0.status = .pending }
        }
        for group in state.downloadGroups.rows(at: .begun) {
            if group.status == .downloading || state.downloads.contains(at: .incomplete(group.id)) {
                state.downloadGroups.update(group.key) { $0.status = .notStarted }
            }
        }
    }
}
