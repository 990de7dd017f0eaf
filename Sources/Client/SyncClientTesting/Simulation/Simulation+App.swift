internal import SyncEngine
internal import SyncProtocol

// An app's responses to the library's reports.
extension Simulation {
    func show(_ conflict: ContentDownloadConflict, _ device: SimulatedDevice) {
        report.conflicts += 1
        let attributes = conflict.attributes
        if let text = attributes.appMetaData { device.seenTexts.insert(text) }
        if let contents = contents(of: conflict, device) { device.seenContents.insert(contents) }
        // The download determines the version.
        if let item = device.engine?.state.download(of: attributes.fileUUID) {
            device.seenVersions.insert(.init(file: attributes.fileUUID, version: item.fileVersion))
        }
    }

    /// The server's contents that a conflict shows; nil if it is about a text alone.
    private func contents(of conflict: ContentDownloadConflict, _ device: SimulatedDevice) -> String? {
        switch conflict.download {
        case .file(let location), .both(let location): device.storage[location]
        case .appMetaData: nil
        }
    }

    func answer(
        _ device: SimulatedDevice, _ process: Int, _ token: EngineToken, _ conflict: ContentDownloadConflict
    ) throws {
        guard device.process == process, device.engine != nil else { return }
        if haveEqualContents(conflict, device) {
            // The library does not ask the app.
            try tell(device, process, .contentConflictResolved(token, .acceptContentDownload))
            return
        }
        let resolution: ContentDownloadResolution?
        switch random.below(isSettling ? 8 : 9) {
        case _ where answers != nil: resolution = answers?.content
        case 0...2: resolution = .acceptContentDownload
        case 3, 4: resolution = .rejectContentDownload(.keepAll)
        case 5: resolution = .rejectContentDownload(.keepContentUploads)
        case 6: resolution = .rejectContentDownload(.keepUploadDeletions)
        case 7: resolution = .rejectContentDownload(.removeAll)
        default: resolution = nil
        }
        if resolution == nil { device.endedEarly = true }
        if let resolution {
            try prepare(for: resolution, conflict, device, process)
        }
        try tell(device, process, .contentConflictResolved(token, resolution))
    }

    private func haveEqualContents(_ conflict: ContentDownloadConflict, _ device: SimulatedDevice) -> Bool {
        guard conflict.conflictType == .contentUpload(.file), case .file(let location) = conflict.download,
            let pending = device.engine?.pendingContent(of: conflict.attributes.fileUUID).file
        else { return false }
        return device.storage[location] == device.storage[pending]
    }

    /// The app's contents of a file that the server has lost, or that others have deleted.
    func supply(
        _ file: FileUUID, _ token: EngineToken, _ device: SimulatedDevice
    ) {
        var answer = SuppliedContents.notAvailable
        if let contents = device.files[file]?.contents {
            // The contents may have been committed before.
            for author in devices { author.edits[contents]?.mayBeRepeated = true }
            answer = .file(UploadSource(location: device.makeLocation(.documents, contents), isOwned: false, size: 1))
        }
        queue.plan(
            .tell(device: device.index, process: device.process, .contents(token, answer)), at: time + delay(500))
    }

    /// Updates the app's own files when it answers.
    private func prepare(
        for resolution: ContentDownloadResolution, _ conflict: ContentDownloadConflict, _ device: SimulatedDevice,
        _ process: Int
    ) throws {
        let file = conflict.attributes.fileUUID
        let pending = device.engine?.state.pendingItems(of: file) ?? []
        let covered = pending.filter { $0.id <= device.lastItemWhenAsked }
        let deletes = covered.contains { $0.kind == .deletion }
        guard case .rejectContentDownload(let kept) = resolution else {
            for item in covered where item.isContent { device.excuse(item) }
            // After receiving only the new text, the app still has the contents that it abandons.
            if conflict.download == .appMetaData { device.wishes.insert(file) }
            return
        }
        // Files that the app has deleted since stay deleted.
        guard !pending.contains(where: { $0.kind == .deletion && $0.id > device.lastItemWhenAsked }) else {
            if !kept.contains(.keepContentUploads) { for item in covered where item.isContent { device.excuse(item) } }
            return
        }
        if deletes, kept.contains(.keepUploadDeletions) {
            // An earlier answer, which was lost with its process, may have been different.
            device.files[file] = nil
            if !kept.contains(.keepContentUploads) { for item in covered where item.isContent { device.excuse(item) } }
            return
        }
        if kept.contains(.keepContentUploads), pending.contains(where: \.isContent) {
            // The app has the contents that it sends; for the rest it adopts those that it was shown.
            let shown = contents(of: conflict, device)
            let sent = pending.compactMap { $0.source.flatMap { device.storage[$0] } }.last
            let text = pending.compactMap(\.appMetaData).last
            device.files[file] = SimulatedDevice.AppFile(
                group: conflict.attributes.sharingGroupUUID, fileGroup: conflict.attributes.fileGroupUUID,
                contents: sent ?? shown ?? device.files[file]?.contents,
                text: text ?? conflict.attributes.appMetaData)
            if sent == nil, shown == nil, device.files[file]?.contents == nil { device.wishes.insert(file) }
            return
        }
        for item in covered where item.isContent { device.excuse(item) }
        // The app's contents are now stale: it sends new ones, or requests the server's.
        let isQueued = random.once(in: 2) && device.files[file] != nil ? try edit(file, device) : false
        if isQueued {
            if newerWork(on: file, device).text == nil { device.files[file]?.text = conflict.attributes.appMetaData }
        } else {
            device.wishes.insert(file)
            if device.process == process { try wish(file, device) }
        }
    }

    func wish(_ file: FileUUID, _ device: SimulatedDevice) throws {
        guard var engine = device.engine, (try? engine.requestDownload(of: file)) != nil else { return }
        device.engine = engine
        try perform([], on: device)
    }

    func answer(
        _ device: SimulatedDevice, _ process: Int, _ token: EngineToken, _ conflicts: [DownloadDeletionConflict]
    ) throws {
        guard device.process == process, device.engine != nil else { return }
        var resolutions: [FileUUID: DownloadDeletionResolution] = [:]
        var keptFiles: Set<FileUUID> = []
        for conflict in conflicts {
            let file = conflict.attributes.fileUUID
            switch random.below(isSettling ? 6 : 7) {
            case _ where answers != nil: resolutions[file] = answers?.deletion
            case 0, 1: resolutions[file] = .acceptDownloadDeletion
            case 2, 3, 4: resolutions[file] = .rejectDownloadDeletion(.keepContentUpload)
            case 5: resolutions[file] = .rejectDownloadDeletion(.removeContentUpload)
            default: break
            }
            let pending = device.engine?.state.pendingItems(of: file) ?? []
            // Files that the app has deleted since stay deleted, and a text alone cannot restore a file: it is
            // abandoned.
            let isKept =
                resolutions[file] == .rejectDownloadDeletion(.keepContentUpload)
                && pending.contains { $0.kind == .file } && !pending.contains { $0.kind == .deletion }
            if isKept {
                keptFiles.insert(file)
                // The app has the contents that it sends.
                let contents = pending.compactMap { $0.source.flatMap { device.storage[$0] } }.last
                device.files[file] = SimulatedDevice.AppFile(
                    group: conflict.attributes.sharingGroupUUID, fileGroup: conflict.attributes.fileGroupUUID,
                    contents: contents ?? device.files[file]?.contents,
                    text: pending.compactMap(\.appMetaData).last ?? conflict.attributes.appMetaData)
            }
            guard resolutions[file] != nil else { continue }
            // Among the kept changes, texts older than the first upload are sent with it, or not at all.
            device.excuse(file) {
                isKept ? $0.kind == .appMetaData : $0.id <= device.lastItemWhenAsked
            }
        }
        if !keptFiles.isEmpty, let state = device.engine?.state {
            // If the app rejects the deletion of one file, the deletions of the other files in the file group are not
            // delivered either.
            let groups = Set(
                state.downloads.all.filter { resolutions[$0.fileUUID] != nil }.map(\.groupID))
            for item in state.downloads.all where groups.contains(item.groupID) && item.kind == .deletion {
                device.seenDeletions.insert(item.fileUUID)
            }
        }
        // For the others the app abandons its own texts: if a kept file is in the same file group, perhaps because of
        // an answer before the process died, the app will be asked only for contents.
        for file in resolutions.keys where !keptFiles.contains(file) {
            device.files[file]?.text =
                newerWork(on: file, device).text ?? device.engine?.state.directory[file]?.appMetaData?.contents
        }
        if resolutions.count < conflicts.count { device.endedEarly = true }
        try tell(device, process, .deletionConflictsResolved(token, resolutions))
    }

    /// Accepts a delivery atomically, as apps must.
    func take(_ operations: [DownloadOperation], _ device: SimulatedDevice) {
        report.deliveries += 1
        for operation in operations {
            let file = operation.attributes.fileUUID
            let group = operation.attributes.sharingGroupUUID
            if let text = operation.attributes.appMetaData { device.seenTexts.insert(text) }
            switch operation.kind {
            case .file(let location, let contentsChanged):
                guard let contents = device.storage[location] else {
                    violation("device \(device.index) receives a file that does not exist")
                    continue
                }
                checkDelivered(contents, operation, contentsChanged, device)
                // Files downloaded before a restoration may not be versions of the restored server.
                let isKnown = server.groups[group]?.history[file]?.contains {
                    $0.version == operation.fileVersion && (contentsChanged || $0.contents == contents)
                }
                if isKnown == true {
                    device.seenVersions.insert(.init(file: file, version: operation.fileVersion))
                }
                device.seenContents.insert(contents)
                device.wishes.remove(file)
                if isDeletedSince(file, device) { continue }
                let own = newerWork(on: file, device)
                if contentsChanged, own.contents == nil, let replaced = device.files[file]?.contents {
                    // Nobody may have them any more if a restored server loses their version.
                    device.edits[replaced]?.isExcused = true
                }
                device.files[file] = SimulatedDevice.AppFile(
                    group: group, fileGroup: operation.attributes.fileGroupUUID, contents: own.contents ?? contents,
                    text: own.text ?? operation.attributes.appMetaData)
            case .appMetaData:
                device.files[file]?.text =
                    newerWork(on: file, device).text ?? operation.attributes.appMetaData
            case .fileGone:
                report.gone += 1
                device.seenGone.insert(file)
            case .deletion:
                checkDeleted(file, in: group, device)
                device.seenDeletions.insert(file)
                device.files[file] = nil
                device.asked.remove(file)
            }
        }
    }

    /// Changes that the app queued after it was asked about a conflict, and therefore keeps when it receives the
    /// server's version.
    private func newerWork(on file: FileUUID, _ device: SimulatedDevice) -> (contents: String?, text: String?) {
        let pending = device.engine?.state.pendingItems(of: file) ?? []
        let contents = pending.compactMap { $0.source.flatMap { device.storage[$0] } }
        return (
            contents.last { device.edits[$0]?.isExcused == false },
            pending.compactMap(\.appMetaData).last { device.textEdits[$0]?.isExcused == false }
        )
    }

    /// Whether the app deleted a file after it answered a question about it.
    private func isDeletedSince(_ file: FileUUID, _ device: SimulatedDevice) -> Bool {
        guard let state = device.engine?.state, let answer = state.download(of: file)?.resolution else { return false }
        return state.pendingItems(of: file).contains { $0.kind == .deletion && $0.id > answer.lastItem }
    }

    func note(_ event: SyncEvent, _ device: SimulatedDevice) {
        switch event {
        case .singleFileUploadWaiting(let attributes, _):
            report.waits += 1
            device.toldFiles.insert(attributes.fileUUID)
        case .filesRestored(let files): report.restoredFiles += files.count
        case .singleFileUploadFailed(let attributes, _):
            report.failedUploads += 1
            device.failedFiles.insert(attributes.fileUUID)
            device.toldFiles.insert(attributes.fileUUID)
        case .sharingGroupUploadOperationCompleted(let group, .userRemoval):
            leave(group.sharingGroupUUID, device)
        default: break
        }
    }

    func leave(_ group: SharingGroupUUID, _ device: SimulatedDevice) {
        device.excuseAll(in: group)
        device.leftGroups.insert(group)
        device.files = device.files.filter { $0.value.group != group }
    }
}
