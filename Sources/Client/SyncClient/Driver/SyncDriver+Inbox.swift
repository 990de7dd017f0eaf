import Foundation
import Logging
import SyncEngine
import SyncProtocol
import Synchronization

// Uploads that other processes left in the store's inbox. One call at a time takes them. File operations run without
// the state lock, so that readers of the state do not wait for the disk.
extension SyncDriver {
    /// Queues the entries of a group, after the app's own changes.
    func takeInbox(of group: SharingGroupUUID) {
        inboxTurn.withLock { _ in
            let entries = inbox.entries().filter { $0.attributes.sharingGroupUUID == group }
            take(entries) { state in
                state.machine.openGroup == nil || state.machine.openGroup == group
            }
        }
    }

    /// Queues and closes the entries of all groups, unless the app has an open queue: then they wait for its sync.
    func takeInbox() {
        inboxTurn.withLock { _ in
            inbox.sweep(now: environment.now())
            let entries = Dictionary(grouping: inbox.entries(), by: \.attributes.sharingGroupUUID)
            for (group, entries) in entries.sorted(by: { $0.value[0].id < $1.value[0].id }) {
                take(entries) { state in
                    state.machine.openGroup == nil
                } _: { state in
                    guard state.machine.openGroup == group else { return }
                    try? change(&state) { machine throws(SyncError) in
                        try machine.closeQueue(of: group, at: now)
                        return ((), [])
                    }
                }
            }
        }
    }

    /// Queues entries of one group, then removes them from the inbox. The queued file has the entry's name, which
    /// identifies an entry that a process queued and then ended before removing it.
    /// - Parameters:
    ///   - mayQueue: called with the state locked; if false, the entries stay.
    ///   - finish: a continuation within the same transaction.
    private func take(
        _ entries: [UploadInbox.Entry], if mayQueue: (borrowing State) -> Bool,
        _ finish: (inout State) -> Void = { _ in }
    ) {
        guard !entries.isEmpty else { return }
        let owned = state.withLock { Set($0.machine.state.ownedFiles) }
        var taken = Set(entries.map(\.id).filter { owned.contains(Self.location($0)) })
        let waiting = entries.filter { !taken.contains($0.id) }
        let sources = waiting.map { entry in Result { () throws(SyncError) in try link(entry) } }
        state.withLock { state in
            guard mayQueue(state) else { return }
            for (entry, source) in zip(waiting, sources) {
                do throws(SyncError) {
                    let source = try source.get()
                    try change(&state) { machine throws(SyncError) in
                        ((), try machine.upload(source, entry.attributes, at: now))
                    }
                    taken.insert(entry.id)
                } catch {
                    var error = error
                    error.fileUUID = entry.attributes.fileUUID
                    report(error, &state)
                }
            }
            finish(&state)
        }
        for entry in entries {
            guard taken.contains(entry.id) else {
                files.remove(Self.location(entry.id))
                continue
            }
            // If that fails, the next process detects that the entry was queued.
            try? inbox.discard(entry)
        }
    }

    private func link(_ entry: UploadInbox.Entry) throws(SyncError) -> UploadSource {
        let location = Self.location(entry.id)
        try files.link(entry.file, to: location)
        return try source(location, isOwned: true)
    }

    private static func location(_ entryID: UploadInbox.Entry.ID) -> LocalFileLocation {
        LocalFileLocation(base: .library, path: entryID)
    }
}
