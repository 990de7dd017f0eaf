import Foundation
import Logging
import SyncEngine
import SyncProtocol
import SyncServerConnection
import Synchronization

// Performs the engine's actions.
extension SyncDriver {
    func perform(_ actions: [EngineAction], _ state: inout State) {
        var lastError: SyncError?
        var isStopping = false
        for action in actions {
            switch action {
            case .send(let token, .reuploadFile(let upload)): send(upload, token, &state)
            case .send(let token, let request): send(request, token, &state)
            case .cancel(let token): state.work[token]?.cancel()
            case .resolveContentConflict(let token, let conflict): resolve(conflict, token, &state)
            case .resolveDeletionConflicts(let token, let conflicts): resolve(conflicts, token, &state)
            case .deliver(let token, let operations, let containsGone):
                deliver(operations, containsGone, token, &state)
            case .wait(let token, let seconds):
                let pause = Duration.seconds(environment.randomSeconds(seconds))
                begin(token, &state) { [environment] _ in
                    do { try await environment.sleep(pause) } catch { return }
                    self.handle(.waited(token))
                }
            case .removeFile(let location): files.remove(location)
            case .report(let event):
                isStopping = isStopping || event == .syncStopping
                note(event, wasStopped: isStopping, &state)
                events.send(event)
            case .reportError(let error):
                lastError = error
                report(error, &state)
            case .reportSharingGroups(let created, let updated, let deleted):
                enqueue(&state) {
                    await self.delegate?.syncServerSharingGroupsDownloaded(
                        created: created, updated: updated, deleted: deleted)
                }
            }
        }
        settleRuns(lastError, &state)
    }

    /// Ends the runs for which the engine has nothing more to do.
    private func settleRuns(_ lastError: SyncError?, _ state: inout State) {
        let machine = state.machine
        let restarts = machine.restarts
        if restarts > 0 { state.runs.updateActive { $0.restarts = max($0.restarts, restarts) } }
        let ended = state.runs.takeEnded { run in
            guard machine.isSyncing, let group = run.group else { return false }
            return machine.hasUploads(of: group, upTo: run.lastClosed)
        }
        for var run in ended {
            if let group = run.group {
                run.report.skipped = machine.state.closedQueues(of: group).reduce(0) {
                    $0 + machine.state.items(in: $1.id).count
                }
            }
            resume(run, with: .success(run.report), &state)
        }
        guard !machine.isSyncing else { return }
        if let lastError {
            for run in state.runs.endAll() { resume(run, with: .failure(lastError), &state) }
            switch lastError.recovery {
            case .signInAgain, .upgradeApp: setStatus(.blocked(lastError), &state)
            default: setStatus(.idle, &state)
            }
        } else if state.status.isActive {
            setStatus(.idle, &state)
        }
    }

    private func note(_ event: SyncEvent, wasStopped: Bool, _ state: inout State) {
        switch event {
        case .syncStarted:
            state.incoming?.lastClosed = state.machine.state.closedQueues().last?.closedSequence ?? 0
            state.runs.begin(state.incoming)
            state.incoming = nil
            setStatus(.checking, &state)
        case .syncDelayed:
            state.incoming?.lastClosed = state.machine.state.closedQueues().last?.closedSequence ?? 0
            if let run = state.incoming { state.runs.delay(run) }
            state.incoming = nil
        case .syncDone:
            if wasStopped { state.runs.updateActive { $0.wasStopped = true } }
            state.runs.noteEnd()
        case .willStartDownloads(let contents, let deletions):
            setStatus(.downloading(done: 0, total: contents + deletions), &state)
        case .willStartUploads(let contents, let deletions, let groups):
            setStatus(.uploading(done: 0, total: contents + deletions + groups), &state)
        case .singleFileUploadGone(let attributes):
            state.runs.updateActive { $0.gone.append(attributes) }
            advance(&state)
        case .singleFileUploadFailed(_, let error):
            state.runs.updateActive { $0.failed.append(error) }
            advance(&state)
        case .singleFileUploadComplete, .singleAppMetaDataUploadComplete, .singleUploadDeletionComplete:
            advance(&state)
        case .contentUploadsCompleted(let number): state.runs.updateActive { $0.uploaded += number }
        case .uploadDeletionsCompleted(let number): state.runs.updateActive { $0.deleted += number }
        default: break
        }
    }

    private func advance(_ state: inout State, by step: Int = 1) {
        switch state.status {
        case .downloading(let done, let total):
            setStatus(.downloading(done: min(done + step, total), total: total), &state)
        case .uploading(let done, let total):
            setStatus(.uploading(done: min(done + step, total), total: total), &state)
        case .idle, .checking, .blocked: break
        }
    }

    // MARK: Requests

    private func send(_ request: ServerRequest, _ token: EngineToken, _ state: inout State) {
        if case .index = request { setStatus(.checking, &state) }
        let progress = progress(of: request)
        begin(token, &state) { [files] performer in
            let reply = await performer.reply(to: request, files: files, progress: progress)
            self.handle(.reply(token, reply))
        }
    }

    /// Asks the app for the contents of a file that is to be uploaded again, then sends them.
    private func send(_ upload: FileReupload, _ token: EngineToken, _ state: inout State) {
        enqueue(&state) {
            switch await self.delegate?.contentForReupload(of: upload.attributes, fileVersion: upload.fileVersion) {
            case .file(let location):
                var upload = upload
                upload.source = location
                let request = ServerRequest.reuploadFile(upload)
                self.state.withLock { state in
                    if !state.isClosed { self.send(request, token, &state) }
                }
            case .differentVersion: self.handle(.reply(token, .reuploaded(.differentVersion)))
            case .notAvailable, nil: self.handle(.reply(token, .reuploaded(.notAvailable)))
            }
        }
    }

    /// Asks the app, in its turn, what it has of a version.
    func content(of attributes: SyncAttributes, _ version: FileVersion) async -> ReuploadContent {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                enqueue(&state) {
                    let content = await self.delegate?.contentForReupload(of: attributes, fileVersion: version)
                    continuation.resume(returning: content ?? .notAvailable)
                }
            }
        }
    }

    private func progress(of request: ServerRequest) -> @Sendable (TransferProgress) -> Void {
        switch request {
        case .uploadFile(let upload): uploadProgress(of: upload.fileUUID)
        case .reuploadFile(let upload): uploadProgress(of: upload.attributes.fileUUID)
        case .downloadFile(let file, _, _, _, _):
            { [transfers] in
                transfers.send(
                    FileTransfer(
                        fileUUID: file, direction: .download, completedBytes: $0.receivedBytes,
                        totalBytes: $0.totalBytes))
            }
        default: { _ in }
        }
    }

    private func uploadProgress(of file: FileUUID) -> @Sendable (TransferProgress) -> Void {
        { [transfers] in
            transfers.send(
                FileTransfer(
                    fileUUID: file, direction: .upload, completedBytes: $0.sentBytes, totalBytes: $0.totalBytes))
        }
    }

    // MARK: Conflicts

    private func resolve(_ conflict: ContentDownloadConflict, _ token: EngineToken, _ state: inout State) {
        if let resolution = resolver.strategy.resolution(of: conflict) {
            enqueue(&state) { self.handle(.contentConflictResolved(token, resolution)) }
            return
        }
        if case .merge(_, let merge) = resolver.strategy {
            let local = state.machine.pendingContent(of: conflict.attributes.fileUUID)
            enqueue(&state) { await self.merge(conflict, local, token, merge) }
            return
        }
        enqueue(&state) {
            let resolution = await self.delegate?.syncServerMustResolveContentDownloadConflict(
                conflict.download, downloadedContentAttributes: conflict.attributes, conflictType: conflict.conflictType
            )
            self.resolved(token, resolution)
        }
    }

    private func resolved(_ token: EngineToken, _ resolution: ContentDownloadResolution?) {
        if resolution == nil { noteDeferred() }
        handle(.contentConflictResolved(token, resolution))
    }

    private func noteDeferred() {
        state.withLock { state in state.runs.updateActive { $0.wasDeferred = true } }
    }

    private func resolve(_ conflicts: [DownloadDeletionConflict], _ token: EngineToken, _ state: inout State) {
        let decided = Dictionary(
            conflicts.compactMap { conflict in
                resolver.strategy.resolution(of: conflict).map { (conflict.attributes.fileUUID, $0) }
            }, uniquingKeysWith: { first, _ in first })
        enqueue(&state) {
            var resolutions = decided
            if decided.count < conflicts.count {
                resolutions = await self.delegate?.syncServerMustResolveDownloadDeletionConflicts(conflicts) ?? [:]
            }
            if conflicts.contains(where: { resolutions[$0.attributes.fileUUID] == nil }) { self.noteDeferred() }
            self.handle(.deletionConflictsResolved(token, resolutions))
        }
    }

    /// Merges both sides of a conflict, and answers with the result.
    private func merge(
        _ conflict: ContentDownloadConflict, _ local: (file: LocalFileLocation?, appMetaData: String?),
        _ token: EngineToken, _ merge: @Sendable (MergeInput) async throws -> MergedFile
    ) async {
        let serverFile: URL? =
            switch conflict.download {
            case .file(let location), .both(let location): files.url(of: location)
            case .appMetaData: nil
            }
        let input = MergeInput(
            attributes: conflict.attributes, serverFile: serverFile, localFile: local.file.flatMap(files.url),
            localAppMetaData: local.appMetaData)
        do {
            let merged = try await merge(input)
            let location = try files.copy(merged.file)
            let source = try source(location, isOwned: true)
            let isAnswered = try state.withLock { state throws(SyncError) in
                try change(&state) { machine throws(SyncError) in
                    let actions = machine.mergeConflict(token, source, appMetaData: merged.appMetaData, at: now)
                    return (actions != nil, actions ?? [])
                }
            }
            if !isAnswered { files.remove(location) }
        } catch {
            logger.info("A merge failed; the question comes again", metadata: ["error": "\(type(of: error))"])
            resolved(token, nil)
        }
    }

    /// A file to upload, in its current state.
    /// - Throws: `fileManagerError` if it cannot be read.
    func source(_ location: LocalFileLocation, isOwned: Bool) throws(SyncError) -> UploadSource {
        guard let url = files.url(of: location) else { throw SyncError(.fileManagerError) }
        let stamp = try FileStamp(of: url)
        return UploadSource(location: location, isOwned: isOwned, size: stamp.size, modified: stamp.modified)
    }

    // MARK: Deliveries

    private func deliver(
        _ operations: [DownloadOperation], _ containsGone: Bool, _ token: EngineToken, _ state: inout State
    ) {
        enqueue(&state) {
            let isTaken = await self.deliver(operations, containsGone)
            self.state.withLock { state in
                guard isTaken else { return }
                state.runs.updateActive { $0.delivered += operations }
                self.advance(&state, by: operations.count)
            }
            self.handle(.delivered(token, taken: isTaken))
            guard !isTaken else { return }
            // The app may have moved some of the files already.
            try? self.change { machine throws(SyncError) in
                if !machine.isSyncing { machine.forgetMissingFiles { !self.files.exists($0) } }
                return ((), [])
            }
        }
    }

    private func deliver(_ operations: [DownloadOperation], _ containsGone: Bool) async -> Bool {
        guard let delegate else { return false }
        do {
            if containsGone {
                try await delegate.syncServerFileGroupDownloadGone(group: operations)
            } else {
                try await delegate.syncServerFileGroupDownloadComplete(group: operations)
            }
            return true
        } catch {
            logger.info("The app did not take a delivery", metadata: ["error": "\(type(of: error))"])
            return false
        }
    }
}

extension SyncStatus {
    /// Whether a sync is active.
    var isActive: Bool {
        switch self {
        case .checking, .downloading, .uploading: true
        case .idle, .blocked: false
        }
    }
}
