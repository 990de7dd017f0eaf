import Foundation
import Logging
import SyncEngine
import SyncProtocol
import Synchronization

// Uploads that other processes left in the store's inbox.
extension SyncDriver {
    /// Queues those of a group, behind what the app has queued.
    func takeInbox(of group: SharingGroupUUID) {
        let entries = inbox.entries().filter { $0.attributes.sharingGroupUUID == group }
        guard !entries.isEmpty else { return }
        state.withLock { state in
            let isOpenForAnother = state.machine.openGroup.map { $0 != group } ?? false
            guard !isOpenForAnother else { return }
            for entry in entries { take(entry, &state) }
        }
    }

    /// Queues and closes those of all groups, unless the app is queueing something itself: then they wait for its sync.
    func takeInbox() {
        inbox.sweep(now: environment.now())
        let entries = inbox.entries()
        var groups: [SharingGroupUUID] = []
        for entry in entries where !groups.contains(entry.attributes.sharingGroupUUID) {
            groups.append(entry.attributes.sharingGroupUUID)
        }
        state.withLock { state in
            for group in groups {
                guard state.machine.openGroup == nil else { return }
                for entry in entries where entry.attributes.sharingGroupUUID == group { take(entry, &state) }
                guard state.machine.openGroup != nil else { continue }
                try? change(&state) { machine throws(SyncError) in
                    try machine.closeQueue(of: group, at: now)
                    return ((), [])
                }
            }
        }
    }

    /// Queues an entry, then removes it from the inbox. The queue's file has the entry's name: by that an entry is known
    /// which was queued already by a process that ended before it could remove it.
    private func take(_ entry: UploadInbox.Entry, _ state: inout State) {
        do throws(SyncError) {
            let location = LocalFileLocation(base: .library, path: entry.id)
            if !state.machine.state.ownedFiles.contains(location) {
                try files.link(entry.file, to: location)
                do throws(SyncError) {
                    let source = try source(location, isOwned: true)
                    try change(&state) { machine throws(SyncError) in
                        ((), try machine.upload(source, entry.attributes, at: now))
                    }
                } catch {
                    files.remove(location)
                    throw error
                }
            }
            try inbox.discard(entry)
        } catch {
            var error = error
            error.fileUUID = entry.attributes.fileUUID
            report(error, &state)
        }
    }
}
