import Foundation
import SyncClient
import SyncDirectory
import SyncErrorSentences

/// Connects a directory's keeper to the client library: queues local changes, and applies changes by others.
///
/// The library asks its delegate only during a sync, and work is handed over only between syncs; so the keeper's record
/// and the library's queue always agree.
actor DirectorySynchronizer: SyncServerDelegate {
    /// Maximum number of files queued for one commit.
    private static let filesOfCommit = 500

    private let keeper: DirectoryKeeper
    let group: SharingGroupUUID
    private var server: SyncServer?
    private var round = Round()
    /// Files whose contents are missing here.
    private var wanted: [FileUUID] = []
    /// Whether the library does not know the group yet.
    private var needsGroups = false
    /// Whether changes that an earlier process left set aside must still be retried.
    private var retriesSetAside = true
    /// The folders of the directory as of the last round, absolute.
    private(set) var folders: [String]

    init(_ keeper: sending DirectoryKeeper, group: SharingGroupUUID) {
        folders = [keeper.root.path]
        self.keeper = keeper
        self.group = group
    }

    /// Starts: completes the last process's unfinished work, and closes its queue.
    func begin(with server: SyncServer) throws {
        self.server = server
        try keeper.recover()
        // New changes must not replace the last process's.
        if server.sharingGroups.contains(where: { $0.sharingGroupUUID == group }) {
            try server.closeQueue(sharingGroupUUID: group)
        } else {
            needsGroups = true
        }
    }

    /// Scans the directory, and syncs.
    /// - Parameter asksServer: whether to fetch changes by others even if there is nothing to send.
    /// - Throws: ``SyncError``, ``DirectoryError``, ``DiskError``, ``RecordError``; completed work is kept.
    func perform(asksServer: Bool = true) async throws -> Round {
        guard let server else { return Round() }
        round = Round()
        do {
            try await perform(by: server, asksServer: asksServer)
        } catch {
            try? noteProblems(by: server)
            if let error = error as? SyncError, error.fileUUID == nil, error.recovery != .retryLater {
                try? keeper.record.note(obstacle: Failure.sentences.sentence(for: error))
            }
            throw error
        }
        return round
    }

    /// The last round's results so far.
    var unfinishedRound: Round { round }

    private func perform(by server: SyncServer, asksServer: Bool) async throws {
        let isAwaited = asksServer || !wanted.isEmpty
        wanted = []
        if needsGroups {
            try await server.synced()
            needsGroups = false
        }
        let look = try keeper.look()
        round.skipped = look.skipped
        round.heldDeletions = look.heldDeletions.map(\.text)
        round.changing = keeper.restlessFiles.map { Change(path: $0.path.text, what: $0.state.rawValue) }
        folders = [keeper.root.path] + look.folders.map(keeper.root.absolutePath)
        // Changes that were sent before an earlier round failed, or an earlier process ended.
        try noteSent(by: server)
        let handedOver = try handOver(to: server)
        if retriesSetAside {
            retriesSetAside = false
            try retrySetAside(by: server)
        }
        if handedOver > 0 || isAwaited || hasUnsent(server) {
            try await exchange(with: server)
            let report = server.pendingReport()
            try keeper.committed(
                except: Set(report.changes.compactMap(\.fileUUID) + report.downloads.map(\.fileUUID)))
        }
        try noteSent(by: server)
        let sent = Set(round.sent.map(\.path))
        round.restored.removeAll { sent.contains($0.path) }
        try noteProblems(by: server)
        for file in wanted { try? server.requestDownload(forFileUUID: file) }
        try keeper.lookAfterDisplaced()
        round.conflicts = keeper.takeConflicts()
        round.shouldPause = look.hasUnsettled || !wanted.isEmpty || !round.conflicts.isEmpty
        round.hasMore = round.shouldPause || (handedOver > 0 && keeper.hasWork)
    }

    /// Retries changes that the server rejected before and may accept now, unless they have been replaced or deleted
    /// since.
    private func retrySetAside(by server: SyncServer) throws {
        for change in server.pendingReport().changes where change.isDead {
            if let file = change.fileUUID { try? server.retryUpload(forFileUUID: file) }
        }
        try server.closeQueue(sharingGroupUUID: group)
    }

    /// Whether the library has changes to send that are not waiting. Waiting changes are retried when the server is
    /// asked for changes, not whenever a local file settles.
    private func hasUnsent(_ server: SyncServer) -> Bool {
        server.pendingReport().changes.contains { $0.isClosed && !$0.isBlocked }
    }

    private func exchange(with server: SyncServer) async throws {
        do {
            let report = try await server.synced(sharingGroupUUID: group)
            round.serverWasRestored = report.serverWasRestored
            round.restored = report.restored.map { Change(path: path(of: $0) ?? $0.rawValue, what: "contents") }
        } catch let error as SyncError where error.code == .storageUnavailable && error.fileUUID != nil {
            // Only changes for this storage wait; everything else has been exchanged.
            round.isPostponed = true
            round.retryAfter = error.retryAfter
        }
    }

    /// Records the changes that the library has sent.
    private func noteSent(by server: SyncServer) throws {
        let waiting = Set(server.pendingReport().changes.compactMap(\.fileUUID))
        for row in try keeper.settleHandedOver(waiting: waiting) {
            round.sent.append(Change(path: keeper.record[row.fileUUID]?.path ?? row.path, row.what))
        }
    }

    /// Records why the library could not send changes, replacing the previously recorded reasons.
    private func noteProblems(by server: SyncServer) throws {
        var problems: [FileUUID: (reason: String, isBlocked: Bool)] = [:]
        for change in server.pendingReport().changes {
            guard let file = change.fileUUID else { continue }
            if change.kind == .file { try keeper.noteQueued(file, .contents) }
            guard let error = change.error, problems[file]?.isBlocked != true else { continue }
            problems[file] = (reason(error), change.isBlocked)
        }
        for file in keeper.record.handedOver.keys {
            try keeper.note(problem: problems[file]?.reason, isBlocked: problems[file]?.isBlocked ?? false, of: file)
        }
        var lines = problems.map { file, problem in
            Change(
                path: path(of: file) ?? keeper.record.handedOver[file]?.path.text ?? file.rawValue,
                what: problem.reason)
        }
        let isReader = server.sharingGroups.contains { $0.sharingGroupUUID == group && $0.permission < .write }
        let refusal = isReader ? reason(SyncError(.permissionDenied)) : nil
        try keeper.record.note(obstacle: refusal)
        if let refusal {
            let unsent = keeper.record.files { !$0.pending.isEmpty && problems[$0.fileUUID] == nil }
            lines += unsent.map { Change(path: $0.path.text, what: refusal) }
        }
        round.hasBlocked = refusal != nil || problems.values.contains { $0.isBlocked }
        round.problems = lines.sorted { $0.path < $1.path }
    }

    /// Why a file could not be sent; the only place that turns the library's error for one file into a problem.
    private func reason(_ error: SyncError) -> String {
        let text = Failure.sentences.sentence(forFile: error)
        guard let bytes = error.fileUUID.flatMap({ keeper.record.handedOver[$0]?.bytes }), bytes > 0 else {
            return text
        }
        return "\(Output.amount(bytes)): \(text)"
    }

    /// The library's pending uploads, by file: the size of the contents in bytes.
    var bytesToSend: [FileUUID: Int64] { keeper.record.handedOver.mapValues(\.bytes) }

    /// Queues work in the library, at most one commit; returns the number of files.
    private func handOver(to server: SyncServer) throws -> Int {
        guard let group = server.sharingGroups.first(where: { $0.sharingGroupUUID == group }) else {
            throw SyncError(.notAMember, sharingGroupUUID: group)
        }
        guard group.permission >= .write else { return 0 }
        let work = try keeper.work(limit: Self.filesOfCommit)
        if let count = try handOverTogether(work, to: server) { return count }
        var count = 0
        for work in work where try handOver(work, to: server) { count += 1 }
        return count
    }

    /// Queues uploads of files, if there are no other changes.
    /// - Returns: Their number; nil if they must be queued one by one, since one is not accepted.
    private func handOverTogether(_ work: [DirectoryKeeper.Work], to server: SyncServer) throws -> Int? {
        var files: [(localFile: LocalFileLocation, attributes: SyncAttributes)] = []
        for work in work {
            guard case .upload(let file, let text) = work else { return nil }
            var attributes = SyncAttributes(
                fileUUID: file.fileUUID, sharingGroupUUID: group, mimeType: file.mimeType)
            attributes.appMetaData = text
            let path = keeper.root.absolutePath(file.path)
            files.append((LocalFileLocation(base: .absolute, path: path), attributes))
        }
        do throws(SyncError) { try server.uploadCopy(files) } catch {
            guard error.fileUUID != nil else { throw error }
            return nil
        }
        try keeper.accepted(work)
        return work.count
    }

    private func handOver(_ work: DirectoryKeeper.Work, to server: SyncServer) throws -> Bool {
        let file = work.file
        var attributes = SyncAttributes(
            fileUUID: file.fileUUID, sharingGroupUUID: group, mimeType: file.mimeType)
        do throws(SyncError) {
            switch work {
            case .upload(_, let text):
                attributes.appMetaData = text
                let path = keeper.root.absolutePath(file.path)
                try server.uploadCopy(
                    localFile: LocalFileLocation(base: .absolute, path: path), withAttributes: attributes)
            case .uploadCopy(_, let text, let copy):
                attributes.appMetaData = text
                try server.uploadTemporary(
                    localFile: LocalFileLocation(base: .absolute, path: copy), withAttributes: attributes)
            case .describe(_, let text):
                attributes.appMetaData = text
                try server.uploadAppMetaData(attributes: attributes)
            case .delete: try server.delete(filesWithUUIDs: [file.fileUUID])
            }
        } catch {
            return try settle(error, of: work)
        }
        try keeper.accepted(work)
        if case .delete = work, !server.pendingReport().changes.contains(where: { $0.fileUUID == file.fileUUID }) {
            // The file never reached the server, so nothing remains to be sent.
            try keeper.dropHandedOver(file.fileUUID)
        }
        return true
    }

    /// Handles work that the library does not accept.
    /// - Returns: Whether this changed anything.
    private func settle(_ error: SyncError, of work: DirectoryKeeper.Work) throws -> Bool {
        switch (work, error.code) {
        case (.delete, .deletingUnknownFile), (.delete, .fileAlreadyDeleted), (.delete, .fileQueuedForDeletion):
            try keeper.accepted(work)
        case (_, .fileAlreadyDeleted), (_, .fileQueuedForDeletion):
            // It is added again as a new file.
            try keeper.refused(work)
        case (.describe, .couldNotFindFileUUID):
            try keeper.mustUpload(work.file.fileUUID)
        case (.upload, .fileManagerError), (.uploadCopy, .fileManagerError):
            // Deleted, or being changed; the next scan will show.
            return false
        case (_, .fileIsGone):
            unreachable(error, path: work.file.path.text)
            return false
        default: throw error
        }
        return true
    }

    // MARK: Changes by others

    func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        conflictType: ConflictingClientOperation
    ) async -> ContentDownloadResolution? {
        let hasContents = if case .appMetaData = downloadContent { false } else { true }
        let (contents, path, deletion) =
            switch conflictType {
            case .contentUpload(.file): (true, false, false)
            case .contentUpload(.appMetaData): (false, true, false)
            case .contentUpload(.both): (true, true, false)
            case .uploadDeletion: (false, false, true)
            case .both: (true, true, true)
            }
        guard
            let resolution = try? keeper.resolve(
                downloadedContentAttributes.fileUUID, at: Self.described(downloadedContentAttributes),
                hasContents: hasContents, givenUpContents: contents,
                givenUpPath: path, givenUpDeletion: deletion)
        else { return nil }
        switch resolution {
        case .accept: return .acceptContentDownload
        case .keepDeletion: return .rejectContentDownload(.keepUploadDeletions)
        }
    }

    func syncServerMustResolveDownloadDeletionConflicts(
        _ conflicts: [DownloadDeletionConflict]
    ) async -> [FileUUID: DownloadDeletionResolution] {
        var answers: [FileUUID: DownloadDeletionResolution] = [:]
        for conflict in conflicts {
            let file = conflict.attributes.fileUUID
            let hasContents = conflict.conflictType != .contentUpload(.appMetaData)
            guard (try? keeper.acceptDeletion(of: file, givenUpContents: hasContents)) != nil else { continue }
            answers[file] = .acceptDownloadDeletion
        }
        return answers
    }

    func syncServerFileGroupDownloadComplete(group operations: [DownloadOperation]) async throws {
        for operation in operations { try take(operation) }
    }

    func syncServerFileGroupDownloadGone(group operations: [DownloadOperation]) async throws {
        for operation in operations { try take(operation) }
    }

    private func take(_ operation: DownloadOperation) throws {
        let attributes = operation.attributes
        let before = keeper.record[attributes.fileUUID]?.path.text
        let (kind, what): (Delivery.Kind, String)
        switch operation.kind {
        case .appMetaData: (kind, what) = (.description, "path")
        case .deletion: (kind, what) = (.deletion, "deletion")
        case .file(let location, _):
            guard let url = server?.url(of: location) else { throw SyncError(.fileManagerError) }
            (kind, what) = (.contents(url), "contents")
        case .fileGone where attributes.awaitingReupload:
            round.awaited.append(
                Change(path: Self.described(attributes) ?? before ?? attributes.fileUUID.rawValue, what: "awaited"))
            return
        case .fileGone:
            var error = SyncError(.fileIsGone, fileUUID: attributes.fileUUID)
            error.goneReason = attributes.gone
            unreachable(error, path: Self.described(attributes))
            return
        }
        let outcome = try keeper.deliver(
            Delivery(
                fileUUID: attributes.fileUUID, kind: kind, appMetaData: attributes.appMetaData,
                mimeType: attributes.mimeType,
                updateDate: attributes.updateDate.map {
                    Date(timeIntervalSince1970: TimeInterval($0.secondsSince1970))
                }))
        if outcome == .needsContents { wanted.append(attributes.fileUUID) }
        let path = keeper.record[attributes.fileUUID]?.path.text ?? before
        if let path { round.received.append(Change(path: path, what: what)) }
    }

    private func unreachable(_ error: SyncError, path described: String?) {
        guard let file = error.fileUUID else { return }
        let change = Change(path: path(of: file) ?? described ?? file.rawValue, what: reason(error))
        round.unreachable.append(change)
    }

    /// The path that the file's description names.
    static func described(_ attributes: SyncAttributes) -> String? {
        guard let text = attributes.appMetaData else { return nil }
        return FileDescription(appMetaData: text)?.path
    }

    func contentForReupload(of attributes: SyncAttributes, fileVersion: FileVersion) async -> ReuploadContent {
        switch keeper.synchronizedContents(of: attributes.fileUUID) {
        case .unchanged(let path): .file(LocalFileLocation(base: .absolute, path: keeper.root.absolutePath(path)))
        case .changed: .differentVersion
        case .missing: .notAvailable
        }
    }

    /// The path of a file, for progress lines.
    func path(of file: FileUUID) -> String? { keeper.record[file]?.path.text }
}
