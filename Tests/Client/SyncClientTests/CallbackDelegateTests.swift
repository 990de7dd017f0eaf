import Foundation
import SyncClient
import Synchronization
import Testing

@Suite("The predecessor's delegate")
struct CallbackDelegateTests {
    /// An app that stores its questions and answers them on demand.
    private final class App: SyncServerCallbackDelegate {
        struct State {
            var content: [SyncServerConflict<ContentDownloadResolution>] = []
            var deletions: [SyncServerConflict<DownloadDeletionResolution>] = []
            var keepsQuestions = true
            var taken: [[DownloadOperation]] = []
            var groups = 0
            var errors: [SyncError] = []
            var events: [SyncEvent] = []
        }

        let state = Mutex(State())
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (told, tell) = AsyncStream.makeStream(of: Void.self)

        func syncServerMustResolveContentDownloadConflict(
            _ downloadContent: ServerContentType, downloadedContentAttributes: SyncAttributes,
            uploadConflict: SyncServerConflict<ContentDownloadResolution>
        ) {
            state.withLock { if $0.keepsQuestions { $0.content.append(uploadConflict) } }
            ask.yield()
        }

        func syncServerMustResolveDownloadDeletionConflicts(
            conflicts: [(
                downloadDeletion: SyncAttributes, uploadConflict: SyncServerConflict<DownloadDeletionResolution>
            )]
        ) {
            state.withLock { if $0.keepsQuestions { $0.deletions += conflicts.map(\.uploadConflict) } }
            ask.yield()
        }

        func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) {
            state.withLock { $0.taken.append(group) }
        }

        func syncServerFileGroupDownloadGone(group: [DownloadOperation]) { state.withLock { $0.taken.append(group) } }

        func syncServerSharingGroupsDownloaded(
            created: [SharingGroup], updated: [SharingGroup], deleted: [SharingGroup]
        ) {
            state.withLock { $0.groups += created.count }
        }

        func syncServerErrorOccurred(error: SyncError) {
            state.withLock { $0.errors.append(error) }
            tell.yield()
        }

        func syncServerEventOccurred(event: SyncEvent) {
            state.withLock { $0.events.append(event) }
            tell.yield()
        }
    }

    private let location = LocalFileLocation(base: .library, path: "x")

    @Test("An answer may come later and from another thread; only the first one counts")
    func later() async throws {
        let app = App()
        let adapter = CallbackDelegateAdapter(app)
        let attributes = Bench.attributes()
        async let resolution = adapter.syncServerMustResolveContentDownloadConflict(
            .file(location), downloadedContentAttributes: attributes, conflictType: .contentUpload(.file))
        for await _ in app.asked { break }
        let question = try #require(app.state.withLock { $0.content.first })
        #expect(question.conflictType == .contentUpload(.file))

        await Task.detached { question.resolveConflict(resolution: .rejectContentDownload(.keepAll)) }.value
        question.resolveConflict(resolution: .acceptContentDownload)

        #expect(await resolution == .rejectContentDownload(.keepAll))
    }

    @Test("An unanswered question is postponed")
    func forgotten() async {
        let app = App()
        app.state.withLock { $0.keepsQuestions = false }
        let adapter = CallbackDelegateAdapter(app)
        let resolution = await adapter.syncServerMustResolveContentDownloadConflict(
            .file(location), downloadedContentAttributes: Bench.attributes(), conflictType: .uploadDeletion)
        #expect(resolution == nil)
        let deletion = DownloadDeletionConflict(
            attributes: Bench.attributes(), conflictType: .contentUpload(.file))
        #expect(await adapter.syncServerMustResolveDownloadDeletionConflicts([deletion]).isEmpty)
    }

    @Test("Deletions are presented together, and answered individually")
    func deletions() async throws {
        let app = App()
        let adapter = CallbackDelegateAdapter(app)
        let conflicts = (0..<3).map { _ in
            DownloadDeletionConflict(attributes: Bench.attributes(), conflictType: .contentUpload(.file))
        }
        async let answers = adapter.syncServerMustResolveDownloadDeletionConflicts(conflicts)
        for await _ in app.asked { break }
        let questions = app.state.withLock { state in
            defer { state.deletions = [] }
            return state.deletions
        }
        try #require(questions.count == 3)
        questions[0].resolveConflict(resolution: .acceptDownloadDeletion)
        questions[2].resolveConflict(resolution: .rejectDownloadDeletion(.keepContentUpload))
        // The second answer is still pending, and so is the sync.
        questions[1].resolveConflict(resolution: .rejectDownloadDeletion(.removeContentUpload))

        let files = conflicts.map(\.attributes.fileUUID)
        #expect(
            await answers == [
                files[0]: .acceptDownloadDeletion, files[1]: .rejectDownloadDeletion(.removeContentUpload),
                files[2]: .rejectDownloadDeletion(.keepContentUpload),
            ])
    }

    @Test("Groups, events and errors are forwarded; without a delegate, a delivery is not accepted")
    func handedOn() async throws {
        let fails = Mutex(false)
        let bench = try Bench { request in
            fails.withLock { $0 } ? .failed(.refused(status: 500, code: nil)) : Bench.index(request)
        }
        var app: App? = App()
        let adapter = CallbackDelegateAdapter(try #require(app))
        adapter.attach(to: bench.client, eventsDesired: .syncDone)
        try await bench.client.synced()
        #expect(app?.state.withLock { $0.groups } == 1)
        var told = app?.told.makeAsyncIterator()
        await told?.next()
        fails.withLock { $0 = true }
        _ = try? await bench.client.synced()
        await told?.next()
        #expect(app?.state.withLock { $0.events } == [.syncDone])
        #expect(app?.state.withLock { $0.errors.map(\.code) } == [.requestRefused])

        let operation = DownloadOperation(kind: .deletion, attributes: Bench.attributes(), fileVersion: .first)
        try await adapter.syncServerFileGroupDownloadComplete(group: [operation])
        #expect(app?.state.withLock { $0.taken } == [[operation]])
        app = nil
        await #expect(throws: (any Error).self) {
            try await adapter.syncServerFileGroupDownloadComplete(group: [operation])
        }
    }
}
