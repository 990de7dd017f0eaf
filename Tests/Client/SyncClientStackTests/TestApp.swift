import Foundation
import SyncClient
import Synchronization

/// An app that stores its deliveries, and answers as the test configures.
final class TestApp: SyncServerDelegate {
    /// One file of a delivery, as the app received it.
    struct Taken: Sendable {
        enum Kind: Sendable, Hashable { case file, appMetaData, gone, deletion }
        let kind: Kind
        let attributes: SyncAttributes
        let version: FileVersion
        var bytes: Data?
        var contentsChanged = false

        var text: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
    }

    struct Refusal: Error {}

    struct State {
        weak var client: SyncServer?
        var deliveries: [[Taken]] = []
        var conflicts: [ContentDownloadConflict] = []
        var deletionConflicts: [[DownloadDeletionConflict]] = []
        var groups: [(created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup])] = []
        var answer: @Sendable (SyncServer?, ContentDownloadConflict) -> ContentDownloadResolution? = { _, _ in
            .acceptContentDownload
        }
        var deletionAnswer: @Sendable (DownloadDeletionConflict) -> DownloadDeletionResolution? = { _ in
            .acceptDownloadDeletion
        }
        var refuses = false
        /// The app's contents of files that must be uploaded again; it lacks all others.
        var contents: [FileUUID: ReuploadContent] = [:]
        var askedFor: [FileUUID] = []
        var hook: (@Sendable () async -> Void)?
    }

    let state = Mutex(State())

    /// The deliveries, one array per call.
    var deliveries: [[Taken]] { state.withLock { $0.deliveries } }
    /// All delivered files.
    var taken: [Taken] { deliveries.flatMap { $0 } }
    var conflicts: [ContentDownloadConflict] { state.withLock { $0.conflicts } }
    var deletionConflicts: [[DownloadDeletionConflict]] { state.withLock { $0.deletionConflicts } }

    /// The files whose contents were requested from it.
    var askedFor: [FileUUID] { state.withLock { $0.askedFor } }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Discards all deliveries so far.
    func forget() {
        change {
            $0.deliveries = []
            $0.conflicts = []
            $0.deletionConflicts = []
            $0.groups = []
        }
    }

    func syncServerMustResolveContentDownloadConflict(
        _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
        conflictType: ConflictingClientOperation
    ) async -> ContentDownloadResolution? {
        let conflict = ContentDownloadConflict(
            download: downloadContent, attributes: downloadedContentAttributes, conflictType: conflictType)
        let (answer, client) = state.withLock { state in
            state.conflicts.append(conflict)
            return (state.answer, state.client)
        }
        return answer(client, conflict)
    }

    func syncServerMustResolveDownloadDeletionConflicts(
        _ conflicts: [DownloadDeletionConflict]
    ) async -> [FileUUID: DownloadDeletionResolution] {
        let answer = state.withLock { state in
            state.deletionConflicts.append(conflicts)
            return state.deletionAnswer
        }
        var answers: [FileUUID: DownloadDeletionResolution] = [:]
        for conflict in conflicts { answers[conflict.attributes.fileUUID] = answer(conflict) }
        return answers
    }

    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws { try await take(group) }

    func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws { try await take(group) }

    func syncServerSharingGroupsDownloaded(
        created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup]
    ) async {
        change { $0.groups.append((created, updated, deleted)) }
    }

    func contentForReupload(of attributes: SyncAttributes, fileVersion: FileVersion) async -> ReuploadContent {
        state.withLock { state in
            state.askedFor.append(attributes.fileUUID)
            return state.contents[attributes.fileUUID] ?? .notAvailable
        }
    }

    private func take(_ group: [DownloadOperation]) async throws {
        let (client, refuses, hook) = state.withLock { ($0.client, $0.refuses, $0.hook) }
        await hook?()
        var taken: [Taken] = []
        for operation in group {
            var file = Taken(kind: .file, attributes: operation.attributes, version: operation.fileVersion)
            switch operation.kind {
            case .file(let location, let contentsChanged):
                guard let url = client?.url(of: location) else { throw Refusal() }
                file.bytes = try Data(contentsOf: url)
                file.contentsChanged = contentsChanged
                // As apps do after a delivery.
                try FileManager.default.removeItem(at: url)
            case .appMetaData:
                file = Taken(kind: .appMetaData, attributes: operation.attributes, version: operation.fileVersion)
            case .fileGone: file = Taken(kind: .gone, attributes: operation.attributes, version: operation.fileVersion)
            case .deletion:
                file = Taken(kind: .deletion, attributes: operation.attributes, version: operation.fileVersion)
            }
            taken.append(file)
        }
        if refuses { throw Refusal() }
        change { $0.deliveries.append(taken) }
    }
}
