import Foundation
import SyncClient
import SyncDirectory

/// Connects a directory's keeper to the client library: queues local changes, and applies changes by others.
///
/// The library asks its delegate only during a sync, and work is handed over only between syncs; so the keeper's record
/// and the library's queue always agree.
actor DirectorySynchronizer: SyncServerDelegate {
    /// The result of one round.
    struct Round: Sendable {
        var sent: [Change] = []
        var received: [Change] = []
        var conflicts: [DirectoryConflict] = []
        var skipped: [DirectoryScan.Skipped] = []
        /// Files that could not be sent, and why.
        var problems: [Change] = []
        /// Files whose contents come once their owner, who has switched accounts, has uploaded them again.
        var awaited: [Change] = []
        /// Whether another round has work to do immediately.
        var hasMore = false
    }

    /// Something that happened to a file.
    struct Change: Sendable, Hashable, Encodable {
        var path: String
        /// `contents`, `path` or `deletion`; for problems, a reason.
        var what: String
    }

    /// Maximum number of files queued for one commit.
    private static let filesOfCommit = 100

    private let keeper: DirectoryKeeper
    let group: SharingGroupUUID
    private var server: SyncServer?
    private var round = Round()
    /// Why the server permanently rejected files.
    private var refusals: [FileUUID: String] = [:]
    /// Files whose contents are missing here.
    private var wanted: [FileUUID] = []
    /// Whether the library does not know the group yet.
    private var needsGroups = false
    /// The folders of the directory as of the last round, absolute.
    private(set) var folders: [String]

    init(_ keeper: sending DirectoryKeeper, group: SharingGroupUUID) {
        folders = [keeper.root.path]
        self.keeper = keeper
        self.group = group
    }

    /// Starts: finishes what the last process left unfinished, and closes what it had queued.
    func begin(with server: SyncServer) throws {
        self.server = server
        try keeper.recover()
        // The server may now accept what it rejected before.
        for change in server.pendingReport().changes where change.isDead {
            if let file = change.fileUUID { try? server.retryUpload(forFileUUID: file) }
        }
        // What is queued from now on must not replace it.
        if server.sharingGroups.contains(where: { $0.sharingGroupUUID == group }) {
            try server.closeQueue(sharingGroupUUID: group)
        } else {
            needsGroups = true
        }
    }

    /// Scans the directory, and syncs.
    /// - Parameter asksServer: whether to fetch changes by others even if there is nothing to send.
    /// - Throws: ``SyncError``, ``DirectoryError``, ``DiskError``, ``RecordError``; what was done before is kept.
    func perform(asksServer: Bool = true) async throws -> Round {
        guard let server else { return Round() }
        round = Round()
        let isAwaited = asksServer || !wanted.isEmpty
        wanted = []
        if needsGroups {
            try await server.synced()
            needsGroups = false
        }
        let look = try keeper.look()
        round.skipped = look.skipped
        folders = [keeper.root.path] + look.folders.map(keeper.root.absolutePath)
        let handedOver = try handOver(to: server)
        if handedOver > 0 || isAwaited || server.uploadsPending {
            note(try await server.synced(sharingGroupUUID: group).failed)
            if !server.uploadsPending { try keeper.committed() }
        }
        for file in wanted { try? server.requestDownload(forFileUUID: file) }
        try keeper.lookAfterDisplaced()
        round.conflicts = keeper.takeConflicts()
        round.hasMore =
            look.hasUnsettled || !wanted.isEmpty || !round.conflicts.isEmpty || (handedOver > 0 && keeper.hasWork)
        return round
    }

    /// Queues work in the library, as much as belongs in one commit; returns the number of files.
    private func handOver(to server: SyncServer) throws -> Int {
        guard let group = server.sharingGroups.first(where: { $0.sharingGroupUUID == group }) else {
            throw SyncError(.notAMember, sharingGroupUUID: group)
        }
        guard group.permission >= .write else { return 0 }
        var count = 0
        for work in try keeper.work(limit: Self.filesOfCommit) where try handOver(work, to: server) { count += 1 }
        return count
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
            case .describe(_, let text):
                attributes.appMetaData = text
                try server.uploadAppMetaData(attributes: attributes)
            case .delete: try server.delete(filesWithUUIDs: [file.fileUUID])
            }
        } catch {
            return try settle(error, of: work)
        }
        try keeper.accepted(work)
        note(work)
        return true
    }

    private func note(_ work: DirectoryKeeper.Work) {
        let what =
            switch work {
            case .upload: "contents"
            case .describe: "path"
            case .delete: "deletion"
            }
        round.sent.append(Change(path: work.file.path.text, what: what))
    }

    private func note(_ failures: [SyncError]) {
        for failure in failures {
            guard let file = failure.fileUUID else { continue }
            let reason =
                switch (failure.code, failure.status) {
                case (.requestRefused, 413): "larger than the server takes"
                case (.requestRefused, _): "the server does not take it: \(failure.description)"
                case (.couldNotFindFileUUID, _): "its contents could not be sent"
                default: "it cannot be read"
                }
            refusals[file] = reason
            round.problems.append(Change(path: path(of: file) ?? file.rawValue, what: reason))
        }
    }

    /// The files that the server rejected and that have not been replaced since.
    var refused: [Change] {
        let waiting = Set(server?.pendingReport().changes.filter(\.isDead).compactMap(\.fileUUID) ?? [])
        return refusals.filter { waiting.contains($0.key) }
            .map { Change(path: path(of: $0.key) ?? $0.key.rawValue, what: $0.value) }
            .sorted { $0.path < $1.path }
    }

    /// Handles work that the library does not accept.
    /// - Returns: Whether this changed anything.
    private func settle(_ error: SyncError, of work: DirectoryKeeper.Work) throws -> Bool {
        switch (work, error.code) {
        case (.delete, .deletingUnknownFile), (.delete, .fileAlreadyDeleted), (.delete, .fileQueuedForDeletion):
            try keeper.accepted(work)
        case (_, .fileAlreadyDeleted), (_, .fileQueuedForDeletion):
            // It comes back as a new file.
            try keeper.refused(work)
        case (.describe, .couldNotFindFileUUID):
            try keeper.mustUpload(work.file.fileUUID)
        case (.upload, .fileManagerError):
            // Deleted, or being changed; the next scan will show.
            return false
        case (_, .fileIsGone):
            round.problems.append(Change(path: work.file.path.text, what: "the server cannot reach its contents"))
            return false
        default: throw error
        }
        return true
    }

    // MARK: What others did

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
                downloadedContentAttributes.fileUUID, hasContents: hasContents, givenUpContents: contents,
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
            round.problems.append(
                Change(path: before ?? attributes.fileUUID.rawValue, what: "its contents are out of reach"))
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

    /// Where a file is, for progress bars.
    func path(of file: FileUUID) -> String? { keeper.record[file]?.path.text }
}
