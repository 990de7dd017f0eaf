internal import SyncProtocol

// Applies the server's list of groups, and handles lost groups.
extension SyncStateMachine {
    /// Applies the list of groups, and informs the app of changes made by others.
    mutating func mergeGroups(_ listed: [SharingGroupInfo]) {
        var created: [SharingGroup] = []
        var updated: [SharingGroup] = []
        for info in listed where !info.deleted {
            let group = info.sharingGroupUUID
            guard let known = state.groups[group], !known.removedFromGroup else {
                created.append(addGroup(info))
                continue
            }
            if known.creationPending {
                guard wasCreationSent(group), info.permission == .admin else { continue }
                confirmCreation(of: group)
            }
            guard var entry = state.groups[group] else { continue }
            noteRestore(info, in: &entry)
            entry.name = info.sharingGroupName
            entry.permission = info.permission
            if entry.masterVersion != info.masterVersion {
                entry.masterVersion = info.masterVersion
                entry.syncNeeded = true
            }
            entry.cloudStorageType = info.cloudStorageType
            state.groups.put(entry)
            if known.cloudStorageType != nil, info.cloudStorageType == nil {
                report(.sharingGroupOwningUserRemoved(entry.sharingGroup))
            }
            if known.name != entry.name { updated.append(entry.sharingGroup) }
        }
        let names = Set(listed.filter { !$0.deleted }.map(\.sharingGroupUUID))
        var deleted: [SharingGroup] = []
        let lost = state.groups.rows { entry in
            !entry.removedFromGroup && !entry.creationPending && !names.contains(entry.sharingGroupUUID)
        }
        for entry in lost {
            if loseGroup(entry.sharingGroupUUID) { deleted.append(entry.sharingGroup) }
        }
        guard !(created.isEmpty && updated.isEmpty && deleted.isEmpty) else { return }
        actions.append(.reportSharingGroups(created: created, updated: updated, deleted: deleted))
    }

    /// Whether the creation of the group may already have been sent to the server: the reply may have been lost.
    private func wasCreationSent(_ group: SharingGroupUUID) -> Bool {
        state.closedQueues(of: group).contains { queue in
            state.items(in: queue.id).contains { $0.kind == .groupCreate }
        }
    }

    /// An entry for a group that this device has just learned about, with the app's policy for such groups.
    func newEntry(of group: SharingGroupUUID, name: String?, permission: Permission) -> SharingEntry {
        var entry = SharingEntry(sharingGroupUUID: group, name: name, permission: permission)
        entry.downloadPolicy = configuration.downloadPolicy
        return entry
    }

    private mutating func addGroup(_ info: SharingGroupInfo) -> SharingGroup {
        var entry = newEntry(of: info.sharingGroupUUID, name: info.sharingGroupName, permission: info.permission)
        entry.masterVersion = info.masterVersion
        entry.cloudStorageType = info.cloudStorageType
        entry.syncNeeded = true
        entry.restoreMark = info.restoreMark
        if let former = state.groups[info.sharingGroupUUID] {
            entry.downloadPolicy = former.downloadPolicy
            entry.downloadsRest = former.downloadsRest
        }
        state.groups.put(entry)
        failedGroups.remove(info.sharingGroupUUID)
        reviveQueues(of: info.sharingGroupUUID)
        return entry.sharingGroup
    }

    /// Handles a renewed membership: changes that could not be sent before the group was lost are sent now.
    private mutating func reviveQueues(of group: SharingGroupUUID) {
        for queue in state.queues.rows(where: { $0.sharingGroupUUID == group && $0.state == .dead }) {
            guard state.items(in: queue.id).allSatisfy({ $0.lastError?.error.code == .notAMember }) else { continue }
            state.queues.update(queue.key) { $0.state = .closed }
            for item in state.items(in: queue.id) {
                guard let file = item.fileUUID, state.directory[file] == nil else { continue }
                // Only changes that the library still has can be sent.
                var entry = DirectoryEntry(fileUUID: file, sharingGroupUUID: group)
                entry.fileGroupUUID = item.fileGroupUUID
                entry.mimeType = item.mimeType
                state.directory.put(entry)
            }
        }
    }

    /// Ends the active sync because the user is no longer a member of its group.
    mutating func groupIsLost(_ group: SharingGroupUUID) {
        guard let entry = state.groups[group] else {
            fail(SyncError(.notAMember, sharingGroupUUID: group))
            return
        }
        if entry.creationPending {
            // The user has no such group on the server, and the server rejected its creation.
            loseGroup(group)
            fail(SyncError(.uuidCollision, sharingGroupUUID: group))
            return
        }
        let wasLeft = entry.removedFromGroup ? run?.wasLeft == true : state.isBeingLeft(group)
        if !entry.removedFromGroup, loseGroup(group) {
            actions.append(.reportSharingGroups(created: [], updated: [], deleted: [entry.sharingGroup]))
        }
        if wasLeft {
            finish()
        } else {
            fail(SyncError(.notAMember, sharingGroupUUID: group))
        }
    }

    /// Records that the user is no longer a member of a group. The app keeps its files; the group's queues become dead.
    /// - Returns: Whether the app must be informed, because the user did not leave on this device.
    @discardableResult
    mutating func loseGroup(_ group: SharingGroupUUID) -> Bool {
        guard let entry = state.groups[group] else { return false }
        let wasLeft = state.isBeingLeft(group)
        state.groups.update(group) {
            $0.removedFromGroup = true
            $0.creationPending = false
            $0.syncNeeded = false
            $0.indexedVersion = nil
        }
        verifiedGroups.remove(group)
        for item in state.reuploads.rows(where: { $0.sharingGroupUUID == group }) { state.reuploads[item.key] = nil }
        for downloads in state.downloadGroups(of: group) { removeDownloads(downloads.id, keepingBytes: false) }
        var died = false
        for queue in state.queues.rows(where: { $0.sharingGroupUUID == group && $0.state != .dead }) {
            if state.items(in: queue.id).contains(where: { $0.kind == .groupRemoveUser }) {
                removeQueue(queue.id)
                report(.sharingGroupUploadOperationCompleted(entry.sharingGroup, .userRemoval))
            } else {
                killQueue(queue)
                died = true
            }
        }
        // The uploads that would have undeleted them are dead.
        for file in state.directory.rows(where: {
            $0.sharingGroupUUID == group && $0.deletedOnServer && !$0.deletedLocally
        }) {
            leaveToIndex(file.key)
        }
        if wasLeft, run?.group == group { run?.wasLeft = true }
        if died, run?.group != group { reportError(SyncError(.notAMember, sharingGroupUUID: group)) }
        return !wasLeft
    }

    private mutating func killQueue(_ queue: UploadQueue) {
        let sequence = state.nextClosedSequence
        state.queues.update(queue.key) {
            $0.state = .dead
            $0.closedSequence = queue.closedSequence ?? sequence
            $0.batchUUID = nil
            $0.commitID = nil
            $0.commitVersion = nil
        }
        for item in state.items(in: queue.id) {
            state.items.update(item.key) {
                $0.resetStaging()
                $0.lastError = StoredSyncError(SyncError(.notAMember))
            }
        }
    }

    /// Removes a queue with all its items.
    mutating func removeQueue(_ queue: RowID<UploadQueue>) {
        for item in state.items(in: queue) { removeItem(item) }
        state.queues[queue] = nil
    }

    /// Removes an item, with its file if the library owns it. The queue may become empty.
    mutating func removeItem(_ item: UploadItem) {
        state.items[item.key] = nil
        if item.ownsFile, let source = item.source { actions.append(.removeFile(source)) }
    }

    /// Removes items that the app abandoned, and queues that become empty.
    mutating func dropItems(_ items: [UploadItem]) {
        for item in items {
            if item.status == .uploaded || item.status == .uploading { verifiedGroups.remove(item.sharingGroupUUID) }
            removeItem(item)
            removeIfEmpty(item.queueID)
        }
    }

    mutating func removeIfEmpty(_ queue: RowID<UploadQueue>) {
        if !state.items.contains(at: .queue(queue)) { state.queues[queue] = nil }
    }
}
