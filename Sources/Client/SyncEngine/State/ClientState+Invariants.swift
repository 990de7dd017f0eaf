internal import SyncProtocol

extension ClientState {
    /// Violations of the state's invariants, as sentences for a developer; empty if all hold.
    ///
    /// The invariants hold after each event, not only between syncs.
    package func violations() -> [String] {
        queueViolations() + itemViolations() + directoryViolations() + downloadViolations() + fileViolations()
            + accountViolations()
    }

    private func queueViolations() -> [String] {
        var found: [String] = []
        let open = openGroups
        if Set(open).count != open.count { found.append("a group has two open queues") }
        for queue in queues.all {
            let content = items(in: queue.id)
            if content.contains(where: { $0.sharingGroupUUID != queue.sharingGroupUUID }) {
                found.append("queue \(queue.id) has an item of a different sharing group")
            }
            if hasRepetition(content.compactMap(\.fileUUID)) {
                found.append("queue \(queue.id) has two items of one file")
            }
            if content.contains(where: { $0.kind == .groupRemoveUser }), content.count > 1 {
                found.append("queue \(queue.id) removes the user and has other items")
            }
            if content.dropFirst().contains(where: { $0.kind == .groupCreate }) {
                found.append("queue \(queue.id) creates a group too late")
            }
            if content.filter({ $0.kind == .groupUpdate }).count > 1 {
                found.append("queue \(queue.id) renames the group twice")
            }
            if queue.state != .dead, content.isEmpty { found.append("\(queue.state) queue \(queue.id) is empty") }
            if (queue.state == .open) != (queue.closedSequence == nil) {
                found.append("queue \(queue.id) is \(queue.state) and has the wrong sequence number")
            }
            if (queue.commitVersion == nil) != (queue.commitID == nil && queue.batchUUID == nil) {
                found.append("queue \(queue.id) has an incomplete commit")
            }
            if queue.commitVersion != nil, queue.state != .closed {
                found.append("\(queue.state) queue \(queue.id) has a commit")
            }
        }
        return found
    }

    private func itemViolations() -> [String] {
        var found: [String] = []
        for item in items.all {
            guard let queue = queues[item.queueID] else {
                found.append("item \(item.id) has no queue")
                continue
            }
            if queue.state == .open, item.status == .uploaded || item.status == .uploading {
                found.append("item \(item.id) is \(item.status) in an open queue")
            }
            if item.isStaged {
                switch item.kind {
                case .file, .deletion:
                    if item.stagedFileVersion == nil { found.append("item \(item.id) is staged without a version") }
                case .appMetaData:
                    if item.stagedAppMetaDataVersion == nil {
                        found.append("item \(item.id) is staged without a version of its text")
                    }
                default: break
                }
            }
            if item.kind == .file, item.source == nil { found.append("item \(item.id) has no contents") }
            if let file = item.fileUUID, queue.state != .dead, directory[file] == nil {
                found.append("item \(item.id) concerns a file that is not in the directory")
            }
        }
        if hasRepetition(items.all.filter { $0.status == .uploading }.compactMap(\.fileUUID)) {
            found.append("two items of one file are being uploaded")
        }
        return found
    }

    private func directoryViolations() -> [String] {
        var found: [String] = []
        for entry in directory.all {
            if groups[entry.sharingGroupUUID] == nil { found.append("file \(entry.fileUUID) is in no sharing group") }
            if entry.deletedLocally, !entry.deletedOnServer {
                found.append("file \(entry.fileUUID) is deleted here, but exists on the server")
            }
            if entry.deletedOnServer, !entry.deletedLocally {
                if pendingItems(of: entry.fileUUID).isEmpty, entry.newerVersion == nil {
                    found.append("file \(entry.fileUUID) is deleted on the server, without a change or newer version")
                }
            }
            if entry.isIndexOnly, entry.deletedOnServer || entry.goneReason != nil || entry.newerVersion != nil {
                found.append("file \(entry.fileUUID) is index only, and deleted, gone or newer here")
            }
            if entry.deletedOnServer, entry.goneReason != nil {
                found.append("file \(entry.fileUUID) is deleted and gone")
            }
        }
        return found
    }

    private func downloadViolations() -> [String] {
        var found: [String] = []
        if hasRepetition(downloads.all.map(\.fileUUID)) { found.append("a file has two downloads") }
        for item in downloads.all {
            guard let group = downloadGroups[item.groupID] else {
                found.append("download \(item.id) has no group")
                continue
            }
            if item.kind == .deletion, item.location != nil { found.append("deletion \(item.id) has contents") }
            if group.status == .downloaded, !item.isComplete {
                found.append("group \(group.id) is complete, its download \(item.id) is not")
            }
            if let entry = directory[item.fileUUID], entry.sharingGroupUUID != group.sharingGroupUUID {
                found.append("download \(item.id) has a different sharing group from its file")
            }
        }
        for group in downloadGroups.all where downloads(in: group.id).isEmpty {
            found.append("group \(group.id) has no downloads")
        }
        for queue in queues.all where queue.commitID != nil && queue.state == .closed {
            if !downloadGroups(of: queue.sharingGroupUUID).isEmpty {
                found.append("queue \(queue.id) may be committed, and its group has downloads")
            }
        }
        return found
    }

    private func accountViolations() -> [String] {
        var found: [String] = []
        for item in reuploads.all where directory[item.fileUUID]?.sharingGroupUUID != item.sharingGroupUUID {
            found.append("file \(item.fileUUID) must be uploaded again, but is unknown in that sharing group")
        }
        for account in account.all where (account.phase == nil) != (account.switchID == nil) {
            found.append("a switch of accounts is incomplete")
        }
        for account in account.all where account.formerSwitchID != nil {
            if account.phase == nil || account.phase == .reuploading {
                found.append("a former switch of accounts exists without a proposal")
            }
        }
        return found
    }

    private func fileViolations() -> [String] {
        hasRepetition(ownedFiles) ? ["two rows refer to one file of the library"] : []
    }

    private func hasRepetition<Value: Hashable>(_ values: [Value]) -> Bool {
        values.count > 1 && Set(values).count != values.count
    }
}
