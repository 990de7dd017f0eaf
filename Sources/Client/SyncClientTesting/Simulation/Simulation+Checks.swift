import SyncEngine
import SyncProtocol

// Invariants that must always hold.
extension Simulation {
    /// A commit must not hide changes by others: each change must build on one that the device's app was shown, or
    /// made.
    func checkCommit(in group: ModelGroup, by device: SimulatedDevice) {
        for (file, changes) in group.history {
            guard let change = changes.last, change.masterVersion == group.masterVersion,
                change.device == device.caller.device, !device.seenGone.contains(file)
            else { continue }
            let earlier = changes.dropLast()
            // Deleting an already deleted file hides nothing.
            if change.isDeleted, earlier.last?.isDeleted == true { continue }
            if change.undeletes {
                if !device.seenDeletions.contains(file) {
                    violation("device \(device.index) restores \(file) without having been shown its deletion")
                }
                continue
            }
            let baseVersion = change.contents == nil ? change.version : FileVersion(change.version.rawValue - 1)
            if change.contents != nil || change.isDeleted, baseVersion >= .first {
                let isOwn = earlier.contains { base in
                    let contents = base.contents ?? ""
                    // After a restoration, another device may have uploaded this device's contents again.
                    let isKnown = device.seenContents.contains(contents) || device.edits[contents] != nil
                    return base.version == baseVersion && (base.device == change.device || isKnown)
                }
                let isSeen = device.seenVersions.contains(.init(file: file, version: baseVersion))
                if !isOwn, !isSeen, !hasSeenLostSuccessor(of: baseVersion, of: file, in: group, device) {
                    violation("device \(device.index) hides version \(baseVersion) of \(file)")
                }
            }
            if change.text != nil, let base = earlier.last(where: { $0.text != nil }), let text = base.text,
                base.device != change.device, !device.seenTexts.contains(text.contents)
            {
                violation("device \(device.index) hides the text \(text.contents) of \(file)")
            }
        }
    }

    /// Whether the device has seen a successor of a version, which the server has lost since.
    private func hasSeenLostSuccessor(
        of version: FileVersion, of file: FileUUID, in group: ModelGroup, _ device: SimulatedDevice
    ) -> Bool {
        let base = group.history[file]?.last { $0.version == version && $0.contents != nil }
        guard let base, let former = group.formerHistory[file],
            let known = former.firstIndex(where: { $0.contents == base.contents })
        else { return false }
        return former[known...].contains { change in
            change.version > former[known].version && device.seenContents.contains(change.contents ?? "")
        }
    }

    /// With a current master version, no request may be refused because of its versions.
    func checkRefusal(_ reply: ServerReply, isExpected: Bool, of request: Request) {
        if case .several(let replies) = reply {
            for reply in replies { checkRefusal(reply, isExpected: isExpected, of: request) }
            return
        }
        guard case .failed(.refused(_, let code?, _)) = reply, SyncStateMachine.refusalsOfWrongVersions.contains(code),
            !isExpected, request.replyDelay != nil, devices[request.device].process == request.process,
            report.restorations == 0
        else { return }
        if case .doneUploads = request.request, !options.hasExtensions { return }
        violation("device \(request.device) is refused with \(code) for \(request.request)")
    }

    /// A delivery must be complete, and of one version of its group.
    func checkDelivered(
        _ contents: String, _ operation: DownloadOperation, _ contentsChanged: Bool, _ device: SimulatedDevice
    ) {
        let file = operation.attributes.fileUUID
        guard let group = server.groups[operation.attributes.sharingGroupUUID],
            let change = (group.formerHistory[file, default: []] + group.history[file, default: []]).last(where: {
                $0.version == operation.fileVersion && $0.contents != nil
                    && (group.restored == nil || contentsChanged || $0.contents == contents)
            })
        else {
            violation("device \(device.index) receives \(file) in a version that never existed")
            return
        }
        if contentsChanged {
            if changedInCloud[file]?.contains(contents) != true {
                violation("device \(device.index) receives contents of \(file) that nobody created")
            }
        } else if change.contents != contents {
            violation("device \(device.index) receives contents of \(file) that differ from its version")
        }
        // Versions before a restoration cannot be compared.
        guard group.restored == nil, let state = device.engine?.state,
            let fileGroup = operation.attributes.fileGroupUUID, let item = state.download(of: file),
            let version = state.downloadGroups[item.groupID]?.masterVersion
        else { return }
        let downloads = state.downloads(in: item.groupID)
        for (other, known) in group.files where known.fileGroup == fileGroup {
            guard let then = group.history[other]?.last(where: { $0.masterVersion <= version }), !then.isDeleted else {
                continue
            }
            let has = downloads.first { $0.fileUUID == other }?.fileVersion ?? state.directory[other]?.fileVersion
            if has != then.version { violation("device \(device.index) receives file group \(fileGroup) torn") }
        }
    }

    /// Only files that have been deleted at least once may be reported as deleted.
    func checkDeleted(_ file: FileUUID, in group: SharingGroupUUID, _ device: SimulatedDevice) {
        let history = server.groups[group].map { $0.formerHistory[file, default: []] + $0.history[file, default: []] }
        if history?.contains(where: \.isDeleted) != true {
            violation("device \(device.index) is informed of a deletion of \(file) that never happened")
        }
    }

    /// At the end all devices agree, and nothing is lost.
    func check() throws {
        checkAccounts()
        for device in devices {
            guard let engine = device.engine else { continue }
            if engine.isSyncing { violation("device \(device.index) never ends its sync") }
            if engine.uploadsPending { violation("device \(device.index) has uploads that are never sent") }
            if !engine.state.downloads.isEmpty { violation("device \(device.index) has leftover downloads") }
            for error in device.errors { violation("device \(device.index) at rest fails with \(error)") }
            if try device.store.load() != device.store.state {
                violation("device \(device.index): SQLite and memory disagree")
            }
            let stored = Set(device.storage.keys.filter { $0.base == .library })
            if stored != Set(engine.state.ownedFiles) {
                violation(
                    "device \(device.index) has \(stored.count) files instead of \(engine.state.ownedFiles.count)")
            }
            for (id, group) in server.groups { compare(device, engine.state, id, group) }
            checkEdits(of: device)
        }
    }

    private func compare(
        _ device: SimulatedDevice, _ state: ClientState, _ id: SharingGroupUUID, _ group: ModelGroup
    ) {
        guard group.members[device.caller.user] != nil else {
            if state.groups[id]?.removedFromGroup == false { violation("device \(device.index) is still in \(id)") }
            return
        }
        guard let entry = state.groups[id], !entry.removedFromGroup else {
            violation("device \(device.index) does not know \(id)")
            return
        }
        if entry.name != group.name { violation("device \(device.index) has the name \(entry.name ?? "-") for \(id)") }
        for (file, known) in group.files {
            let own = device.files[file]
            if known.isDeleted {
                if own != nil { violation("device \(device.index) has \(file), which is deleted") }
                continue
            }
            guard let own, let row = state.directory[file] else {
                violation("device \(device.index) is missing \(file)")
                continue
            }
            if row.fileVersion != known.version {
                violation("device \(device.index) knows another version of \(file)")
            }
            if own.contents != known.contents, changedInCloud[file]?.contains(own.contents ?? "") != true {
                violation(
                    "device \(device.index) has \(own.contents ?? "nothing") in \(file), not \(known.contents)")
            }
            if own.text != known.text?.contents || row.appMetaData != known.text {
                violation(
                    "device \(device.index) has the text \(own.text ?? "-") for \(file), not \(known.text?.contents ?? "-")"
                )
            }
        }
        for (file, own) in device.files where own.group == id && group.files[file] == nil {
            violation("device \(device.index) alone has \(file)")
        }
    }

    /// Every change by the app is committed, once, unless excused by the app's decision or by the fate of its file.
    private func checkEdits(of device: SimulatedDevice) {
        for (contents, edit) in device.edits {
            let times = commits(of: contents, edit)
            if times == 0, !hasSuccessor(edit, device) {
                violation("device \(device.index) lost \(contents) of \(edit.file)")
            }
            if times > 1, options.hasExtensions, !edit.mayBeRepeated {
                violation("device \(device.index) committed \(contents) of \(edit.file) \(times) times")
            }
        }
        for (text, edit) in device.textEdits where !edit.isExcused {
            var known: (text: String, edit: SimulatedDevice.Edit)? = (text, edit)
            while let (text, edit) = known, !isCommitted(text: text, edit), !edit.isExcused {
                known = edit.successor.flatMap { next in device.textEdits[next].map { (next, $0) } }
            }
            if known == nil { violation("device \(device.index) lost the text \(text) of \(edit.file)") }
        }
    }

    private func commits(of contents: String, _ edit: SimulatedDevice.Edit) -> Int {
        server.groups[edit.group]?.history[edit.file]?.filter { $0.contents == contents }.count ?? 0
    }

    /// Whether contents were committed, before a restoration or since.
    private func isKnown(_ contents: String, _ edit: SimulatedDevice.Edit) -> Bool {
        guard let group = server.groups[edit.group] else { return false }
        return [group.history[edit.file], group.formerHistory[edit.file]].contains { changes in
            changes?.contains { $0.contents == contents } == true
        }
    }

    private func isCommitted(text: String, _ edit: SimulatedDevice.Edit) -> Bool {
        server.groups[edit.group]?.history[edit.file]?.contains { $0.text?.contents == text } ?? false
    }

    /// Whether uncommitted contents are excused: their replacement was committed, is queued, or was abandoned.
    private func hasSuccessor(
        _ edit: SimulatedDevice.Edit, _ device: SimulatedDevice, among queued: Set<String> = []
    ) -> Bool {
        var edit = edit
        while !edit.isExcused {
            guard let contents = edit.successor, let next = device.edits[contents] else { return false }
            if queued.contains(contents) || isKnown(contents, next) { return true }
            edit = next
        }
        return true
    }

    /// A refusal about a file, a storage or the user must not block other changes to the group.
    func checkOthersSent(by device: SimulatedDevice) {
        guard !device.endedEarly, let engine = device.engine, let error = device.errors.last,
            let group = error.sharingGroupUUID
        else { return }
        let isAboutChange =
            [.storageFull, .storageUnauthorized, .storageOwnerMissing, .permissionDenied].contains(error.code)
            || error.recovery == .replaceFile
        guard isAboutChange, engine.hasUploads(of: group, upTo: .max) else { return }
        violation("device \(device.index) sends nothing more in \(group) after \(error)")
    }

    /// The app is informed only once that the user may not write.
    func checkDenial(in group: SharingGroupUUID, _ device: SimulatedDevice) {
        guard let state = device.engine?.state else { return }
        let waiting = Set(state.closedQueues(of: group).flatMap { state.items(in: $0.id) }.map(\.id))
        if let known = device.deniedItems[group], waiting.isSubset(of: known) {
            violation("device \(device.index) reports the missing permission again for \(group)")
        }
        device.deniedItems[group] = waiting
    }

    /// Changes that the app has queued exist, on the device or on the server, until the app abandons them; and the app
    /// was informed of changes that a sync could not send for a lasting reason.
    func checkKept(by device: SimulatedDevice) {
        guard let state = device.engine?.state else { return }
        let queued = Set(state.items.all.compactMap { $0.source.flatMap { device.storage[$0] } })
        for (contents, edit) in device.edits
        where !edit.isExcused && !queued.contains(contents) && !isKnown(contents, edit) {
            if !hasSuccessor(edit, device, among: queued) {
                violation("device \(device.index) has dropped \(contents) of \(edit.file)")
            }
        }
        for item in state.items.all {
            guard let file = item.fileUUID, let failure = item.failure, failure.code != .notAMember else { continue }
            let isSetAside = state.queues[item.queueID]?.state == .dead
            let waits = failure.code == .permissionDenied || (failure.storage != nil && failure.recovery != .retryLater)
            if isSetAside || waits, !device.toldFiles.contains(file) {
                violation("device \(device.index) was not informed that a change of \(file) is not sent")
            }
        }
    }
}

// The end of a history: no more faults, and all devices sync until nothing changes.
extension Simulation {
    /// More than any history needs: each round, every device syncs every group.
    private static let maximumRounds = 16
    /// After these rounds, every device has uploaded its contents of waiting files.
    private static let roundsBeforeReplacements = 4

    func settle() throws {
        isSettling = true
        server.missingFiles = []
        server.refusalOfContents = nil
        server.revokedUsers = []
        server.room = [:]
        for (id, group) in server.groups {
            for (user, permission) in group.members where permission == .read {
                server.groups[id]?.members[user] = .write
                server.raiseMasterVersion(of: id)
            }
        }
        try rest()
        guard options.hasDownloadsOnDemand else { return }
        try downloadAll()
        try rest()
    }

    private func rest() throws {
        for round in 0..<Self.maximumRounds {
            let before = masterVersions
            log("round \(round)")
            // Staged changes that cannot be withdrawn from a server without extensions expire.
            if !options.hasExtensions { time += 8 * 86_400 }
            for device in devices {
                try launch(device)
                device.errors = []
            }
            try runUntilQuiet()
            if options.hasAccountSwitches {
                for device in devices { try settleAccount(device) }
                if round >= Self.roundsBeforeReplacements { try replaceMissing() }
            }
            for device in devices where device.engine != nil {
                try tidy(device)
                let groups = device.engine?.sharingGroups.map(\.sharingGroupUUID) ?? []
                for open in device.engine?.state.openGroups ?? [] { try sync(device, open) }
                try sync(device, nil)
                // Files that wait for their bytes must be fetched without a request.
                let asksForGone = !options.hasAccountSwitches || round % 2 == 1
                for group in groups { try sync(device, group, reAttemptGone: asksForGone) }
                try runUntilQuiet()
                // A group that has just reappeared in the list is synced in the next round.
                checkFetched(device, in: groups)
            }
            if before == masterVersions, !isAnyMissing, devices.allSatisfy(isAtRest) { return }
        }
        violation("the clients do not come to rest")
        for device in devices where !isAtRest(device) {
            let items = device.engine?.state.items.inOrder.map { "\($0)" } ?? []
            log("\(device.index) does not rest: \(items), \(device.wishes), \(device.errors)")
        }
    }

    private var masterVersions: [SharingGroupUUID: MasterVersion] {
        server.groups.mapValues(\.masterVersion)
    }

    private var isAnyMissing: Bool {
        server.groups.values.contains { group in
            group.files.values.contains { !$0.isDeleted && $0.content != .stored }
        }
    }

    private func isAtRest(_ device: SimulatedDevice) -> Bool {
        guard let engine = device.engine else { return true }
        return !engine.uploadsPending && engine.state.downloads.isEmpty && device.wishes.isEmpty
            && engine.state.items.all.allSatisfy { engine.state.queues[$0.queueID]?.state == .dead }
            && engine.sharingGroups.allSatisfy { group in
                !group.syncNeeded && !engine.state.directory.contains(at: .gone(group.sharingGroupUUID))
            } && device.errors.isEmpty
    }

    /// An app's handling of unfinished changes.
    private func tidy(_ device: SimulatedDevice) throws {
        guard let state = device.engine?.state else { return }
        // An event may have been lost with its process, but changes that were set aside persist.
        for item in state.items.inOrder where state.queues[item.queueID]?.state == .dead {
            if let file = item.fileUUID { device.failedFiles.insert(file) }
        }
        for file in device.failedFiles.sorted() { try decideFailed(file, device) }
        // Nobody hosts the files of a member who has left.
        for item in state.items.inOrder where item.failure?.code == .storageOwnerMissing {
            if let file = item.fileUUID { try withdraw(file, device) }
        }
        // An app that removed the files of a group, and is a member again, requests the files that the library believes
        // it has.
        for entry in state.directory.all
        where device.leftGroups.contains(entry.sharingGroupUUID) && device.files[entry.fileUUID] == nil
            && !entry.deletedOnServer && !entry.isIndexOnly && state.pendingItems(of: entry.fileUUID).isEmpty
        {
            device.wishes.insert(entry.fileUUID)
        }
        for file in device.wishes.sorted() {
            guard let state = device.engine?.state, let entry = state.directory[file], !entry.deletedLocally,
                entry.fileVersion != nil || !state.pendingItems(of: file).isEmpty
            else {
                device.wishes.remove(file)
                // The library keeps the request for a file that a restored server has lost.
                if device.engine?.state.directory[file]?.forceDownload != true { device.asked.remove(file) }
                continue
            }
            if device.engine?.state.groups[entry.sharingGroupUUID]?.removedFromGroup != false {
                device.wishes.remove(file)
                continue
            }
            try wish(file, device)
        }
    }
}
