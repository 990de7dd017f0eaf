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
            case .askForContents(let token, let attributes, let version):
                enqueue(&state) {
                    self.handle(.contents(token, await self.contents(of: attributes, version)))
                }
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
            case .syncFailed(let group, let error):
                for run in state.runs.endAll(of: group) { resume(run, with: .failure(error), &state) }
            case .reportSharingGroups(let created, let updated, let deleted):
                enqueue(&state) {
                    await self.delegate?.syncServerSharingGroupsDownloaded(
                        created: created, updated: updated, deleted: deleted)
                }
            }
        }
        settleRuns(lastError, &state)
    }

    /// Ends the runs whose work the engine has completed.
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
                run.report.waiting = machine.waitingChanges(of: group)
                if let error = machine.postponement(of: group, upTo: run.lastClosed) {
                    resume(run, with: .failure(error), &state)
                    continue
                }
            }
            resume(run, with: .success(run.report), &state)
        }
        guard !machine.isSyncing else { return }
        if let lastError {
            for run in state.runs.endAll() { resume(run, with: .failure(lastError), &state) }
        }
        if let lastError, [.signInAgain, .upgradeApp].contains(lastError.recovery), lastError.fileUUID == nil {
            setStatus(.blocked(lastError), &state)
        } else if lastError != nil || state.status.isActive || state.status.isAboutChange {
            setStatus(.atRest(machine), &state)
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
        case .singleFileUploadWaiting: advance(&state)
        case .singleFileUploadFailed(_, let error):
            state.runs.updateActive { $0.failed.append(error) }
            advance(&state)
        case .singleFileUploadComplete, .singleAppMetaDataUploadComplete, .singleUploadDeletionComplete:
            advance(&state)
        case .contentUploadsCompleted(let number): state.runs.updateActive { $0.uploaded += number }
        case .uploadDeletionsCompleted(let number): state.runs.updateActive { $0.deleted += number }
        case .filesRestored(let files): state.runs.updateActive { $0.restored += files }
        case .serverRestored: state.runs.updateActive { $0.serverWasRestored = true }
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

    /// Asks the app for the contents of a file to upload again, then sends them.
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

    /// Asks the app for contents that are missing from the server, in their current state.
    private func contents(of attributes: SyncAttributes, _ version: FileVersion) async -> SuppliedContents {
        switch await delegate?.contentForReupload(of: attributes, fileVersion: version) {
        case .file(let location):
            do throws(SyncError) { return .file(try source(location, isOwned: false)) } catch { return .notAvailable }
        case .differentVersion: return .differentVersion
        case .notAvailable, nil: return .notAvailable
        }
    }

    /// Asks the app for its contents of a version, after all earlier callbacks.
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
        case .uploadFile(let upload): progress(of: upload.fileUUID, .upload)
        case .uploadSmallFiles(let uploads): progress(of: uploads)
        case .reuploadFile(let upload): progress(of: upload.attributes.fileUUID, .upload)
        case .downloadFile(let file, _, _, _, _): progress(of: file, .download)
        default: { _ in }
        }
    }

    /// Reports the progress of a request. A retry is reported only once it exceeds the previous progress.
    private func progress(
        of file: FileUUID, _ direction: FileTransfer.Direction
    ) -> @Sendable (TransferProgress) -> Void {
        let reached = ReachedBytes()
        return { [transfers] progress in
            let bytes = direction == .upload ? progress.sentBytes : progress.receivedBytes
            guard reached.advance(to: bytes) else { return }
            transfers.send(
                FileTransfer(
                    fileUUID: file, direction: direction, completedBytes: bytes, totalBytes: progress.totalBytes))
        }
    }

    /// Reports the progress of each file in a request: files are sent one after the other.
    private func progress(of uploads: [FileUpload]) -> @Sendable (TransferProgress) -> Void {
        let files = uploads.map { (size: $0.fileSize ?? 0, report: progress(of: $0.fileUUID, .upload)) }
        let contentBytes = files.reduce(0) { $0 + $1.size }
        return { progress in
            // The rest are the parameters, which come first.
            var sent = progress.sentBytes - ((progress.totalBytes ?? contentBytes) - contentBytes)
            for file in files where sent > 0 {
                file.report(TransferProgress(sentBytes: min(sent, file.size), totalBytes: file.size))
                sent -= file.size
            }
        }
    }

    // MARK: Conflicts

    private func resolve(_ conflict: ContentDownloadConflict, _ token: EngineToken, _ state: inout State) {
        let local = state.machine.pendingContent(of: conflict.attributes.fileUUID)
        if [.contentUpload(.file), .contentUpload(.both)].contains(conflict.conflictType),
            local.appMetaData == nil || local.appMetaData == conflict.attributes.appMetaData,
            let downloaded = conflict.download.location.flatMap(files.url), let pending = local.file.flatMap(files.url)
        {
            // Both sides may have made the same change, or another device may have restored the same file.
            enqueue(&state) {
                if LibraryFiles.haveEqualContents(downloaded, pending) {
                    self.handle(.contentConflictResolved(token, .acceptContentDownload))
                } else {
                    self.state.withLock { self.ask(conflict, token, &$0) }
                }
            }
            return
        }
        ask(conflict, token, &state)
    }

    private func ask(_ conflict: ContentDownloadConflict, _ token: EngineToken, _ state: inout State) {
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
            logger.info("A merge failed; a later sync will ask again", metadata: ["error": "\(type(of: error))"])
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
            // The app may move the files.
            let sizes = self.files.sizes(of: operations)
            let isTaken = await self.deliver(operations, containsGone)
            self.state.withLock { state in
                guard isTaken else { return }
                state.runs.updateActive { $0.delivered += operations }
                self.advance(&state, by: operations.count)
            }
            self.handle(.delivered(token, taken: isTaken, sizes: sizes))
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
            logger.info("The app did not accept a delivery", metadata: ["error": "\(type(of: error))"])
            return false
        }
    }
}

extension ServerContentType {
    /// The location of the contents; nil if only the text changed.
    var location: LocalFileLocation? {
        switch self {
        case .file(let location), .both(let location): location
        case .appMetaData: nil
        }
    }
}

extension SyncStatus {
    /// The status while no sync is active.
    static func atRest(_ machine: SyncStateMachine) -> SyncStatus {
        (machine.waitingChanges() + machine.changesSetAside).first.map { .blocked($0) } ?? .idle
    }

    /// Whether it is blocked by a change that the app may withdraw.
    var isAboutChange: Bool { if case .blocked(let error) = self { error.fileUUID != nil } else { false } }

    /// Whether a sync is active.
    var isActive: Bool {
        switch self {
        case .checking, .downloading, .uploading: true
        case .idle, .blocked: false
        }
    }
}

/// The highest reported progress of a transfer.
private final class ReachedBytes: Sendable {
    private let bytes = Mutex<Int64>(-1)

    /// Records progress; false if the transfer had already reached that point.
    func advance(to reached: Int64) -> Bool {
        bytes.withLock { bytes in
            defer { bytes = max(bytes, reached) }
            return reached > bytes
        }
    }
}
