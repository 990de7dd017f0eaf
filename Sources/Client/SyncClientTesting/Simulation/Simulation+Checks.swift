internal import SyncEngine
internal import SyncProtocol

// Invariants that must always hold.
extension Simulation {
    /// A commit must not hide what others did: each change builds on one that the device's app was shown, or made.
    func checkCommit(in group: ModelGroup, by device: SimulatedDevice) {
        for (file, changes) in group.history {
            guard let change = changes.last, change.masterVersion == group.masterVersion,
                change.device == device.caller.device, !device.seenGone.contains(file)
            else { continue }
            let earlier = changes.dropLast()
            // Deleting what is already deleted hides nothing.
            if change.isDeleted, earlier.last?.isDeleted == true { continue }
            if change.undeletes {
                if !device.seenDeletions.contains(file) {
                    violation("device \(device.index) brings \(file) back without having been told of its end")
                }
                continue
            }
            let baseVersion = change.contents == nil ? change.version : FileVersion(change.version.rawValue - 1)
            if change.contents != nil || change.isDeleted, baseVersion >= .first {
                let isOwn = earlier.contains { $0.version == baseVersion && $0.device == change.device }
                if !isOwn, !device.seenVersions.contains(.init(file: file, version: baseVersion)) {
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

    /// With a current master version, nothing may be refused because of its versions.
    func checkRefusal(_ reply: ServerReply, isExpected: Bool, of request: Request) {
        guard case .failed(.refused(_, let code?)) = reply, SyncStateMachine.refusalsOfWrongVersions.contains(code),
            !isExpected, request.replyDelay != nil, devices[request.device].process == request.process
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
            let change = group.history[file]?.last(where: {
                $0.version == operation.fileVersion && $0.contents != nil
            })
        else {
            violation("device \(device.index) gets \(file) in a version that never was")
            return
        }
        if contentsChanged {
            if changedInCloud[file]?.contains(contents) != true {
                violation("device \(device.index) gets contents of \(file) that nobody made")
            }
        } else if change.contents != contents {
            violation("device \(device.index) gets other contents of \(file) than its version has")
        }
        guard let state = device.engine?.state, let fileGroup = operation.attributes.fileGroupUUID,
            let item = state.download(of: file),
            let version = state.downloadGroups[item.groupID]?.masterVersion
        else { return }
        let downloads = state.downloads(in: item.groupID)
        for (other, known) in group.files where known.fileGroup == fileGroup {
            guard let then = group.history[other]?.last(where: { $0.masterVersion <= version }), !then.isDeleted else {
                continue
            }
            let has = downloads.first { $0.fileUUID == other }?.fileVersion ?? state.directory[other]?.fileVersion
            if has != then.version { violation("device \(device.index) gets file group \(fileGroup) torn") }
        }
    }

    /// Only what was deleted at some time may be reported as deleted.
    func checkDeleted(_ file: FileUUID, in group: SharingGroupUUID, _ device: SimulatedDevice) {
        if server.groups[group]?.history[file]?.contains(where: \.isDeleted) != true {
            violation("device \(device.index) is told that \(file) is deleted, which it never was")
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
            if try !device.store.isConsistent() { violation("device \(device.index): SQLite and memory disagree") }
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
        if entry.name != group.name { violation("device \(device.index) calls \(id) \(entry.name ?? "nothing")") }
        for (file, known) in group.files {
            let own = device.files[file]
            if known.isDeleted {
                if own != nil { violation("device \(device.index) has \(file), which is deleted") }
                continue
            }
            guard let own, let row = state.directory[file] else {
                violation("device \(device.index) lacks \(file)")
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

    /// Every change of the app is committed, once, unless excused by a decision of the app or by what happened to its
    /// file.
    private func checkEdits(of device: SimulatedDevice) {
        for (contents, edit) in device.edits {
            let times = server.groups[edit.group]?.history[edit.file]?.filter { $0.contents == contents }.count ?? 0
            if times == 0, !edit.isExcused { violation("device \(device.index) lost \(contents) of \(edit.file)") }
            if times > 1, options.hasExtensions, !edit.mayBeRepeated {
                violation("device \(device.index) committed \(contents) of \(edit.file) \(times) times")
            }
        }
        for (text, edit) in device.textEdits where !edit.isExcused {
            let isThere = server.groups[edit.group]?.history[edit.file]?.contains { $0.text?.contents == text } ?? false
            if !isThere { violation("device \(device.index) lost the text \(text) of \(edit.file)") }
        }
    }
}
