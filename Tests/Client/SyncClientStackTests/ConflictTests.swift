import Foundation
import SyncClient
import Synchronization
import TestSupport
import Testing

@Suite("Local changes and changes by others")
struct ConflictTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// Two devices with a file whose next version the phone has published and the tablet does not know.
    private func clash(
        _ kind: ServerKind, configure: (inout SyncServer.Configuration) -> Void = { _ in }
    ) async throws -> (phone: Device, tablet: Device, file: FileUUID) {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another(configure: configure)
        let file = try await phone.publish("old", text: "old text")
        _ = try await tablet.received()
        try await phone.publish("theirs", as: file, text: "their text")
        tablet.app.forget()
        return (phone, tablet, file)
    }

    @Test("Accepting delivers and drops the local upload", arguments: ServerKind.allCases)
    func accept(kind: ServerKind) async throws {
        let (phone, tablet, file) = try await clash(kind)
        try tablet.upload("mine", as: file)

        let report = try await tablet.sync()

        #expect(tablet.app.conflicts.map(\.conflictType) == [.contentUpload(.file)])
        #expect(tablet.app.conflicts.first?.attributes.fileUUID == file)
        #expect(tablet.app.conflicts.first?.attributes.mimeType == MIMEType("text/plain"))
        #expect(tablet.app.taken.map(\.text) == ["theirs"] && report.uploaded == 0)
        #expect(try phone.row(file)?.fileVersion?.integer == 1)
        #expect(try tablet.leftovers() == [])
    }

    @Test("Rejecting sends the local upload as the next version", arguments: ServerKind.allCases)
    func reject(kind: ServerKind) async throws {
        let (phone, tablet, file) = try await clash(kind)
        tablet.app.change { $0.answer = { _, _ in .rejectContentDownload(.keepAll) } }
        try tablet.upload("mine", as: file)

        let report = try await tablet.sync()

        #expect(tablet.app.taken.isEmpty && report.uploaded == 1)
        let received = try await phone.received()
        #expect(received.map(\.text) == ["mine"] && received.map(\.version) == [FileVersion(2)])
    }

    @Test("Removing everything while a fresh upload is queued sends only the fresh one", arguments: ServerKind.allCases)
    func fresh(kind: ServerKind) async throws {
        let (phone, tablet, file) = try await clash(kind)
        let merged = try tablet.file(Data("merged".utf8))
        let attributes = tablet.attributes(file)
        tablet.app.change {
            $0.answer = { client, _ in
                try? client?.uploadCopy(localFile: merged, withAttributes: attributes)
                return .rejectContentDownload(.removeAll)
            }
        }
        try tablet.upload("mine", as: file)
        try await tablet.sync()
        try await tablet.sync()

        let received = try await phone.received()
        #expect(received.map(\.text) == ["merged"] && received.map(\.version) == [FileVersion(2)])
        #expect(try tablet.leftovers() == [])
    }

    @Test("Without an answer the sync ends, and the question is repeated", arguments: ServerKind.allCases)
    func deferred(kind: ServerKind) async throws {
        let (_, tablet, file) = try await clash(kind)
        tablet.app.change { $0.answer = { _, _ in nil } }
        try tablet.upload("mine", as: file)

        let report = try await tablet.sync()
        #expect(report.wasDeferred && report.delivered.isEmpty && !tablet.client.isSyncing)
        #expect(report.skipped == 1)
        tablet.app.change { $0.answer = { _, _ in .acceptContentDownload } }
        try await tablet.sync()

        #expect(tablet.app.conflicts.count == 2 && tablet.app.taken.map(\.text) == ["theirs"])
    }

    @Test("New metadata conflict with new metadata, and a deletion with new contents", arguments: ServerKind.allCases)
    func otherKinds(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let files = [try phone.upload("a", text: "a"), try phone.upload("b")]
        try await phone.sync()
        _ = try await tablet.received()
        try phone.uploadText("theirs", of: files[0])
        try phone.upload("theirs", as: files[1])
        try await phone.sync()
        tablet.app.forget()
        tablet.app.change {
            $0.answer = { _, conflict in
                conflict.attributes.fileUUID == files[0] ? .rejectContentDownload(.keepAll) : .acceptContentDownload
            }
        }
        try tablet.uploadText("mine", of: files[0])
        try tablet.client.delete(fileWithUUID: files[1])

        try await tablet.sync()

        let conflicts = Dictionary(uniqueKeysWithValues: tablet.app.conflicts.map { ($0.attributes.fileUUID, $0) })
        #expect(conflicts[files[0]]?.conflictType == .contentUpload(.appMetaData))
        #expect(conflicts[files[0]]?.download == .appMetaData)
        #expect(conflicts[files[1]]?.conflictType == .uploadDeletion)
        #expect(try await phone.received().map(\.attributes.appMetaData) == ["mine"])
        #expect(try phone.row(files[1])?.deleted?.bool == false)
    }

    @Test(
        "A deletion by others conflicting with local contents is accepted, or the contents restore the file",
        arguments: ServerKind.allCases, [true, false])
    func deletion(kind: ServerKind, isKept: Bool) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = try await phone.publish("old")
        _ = try await tablet.received()
        try phone.client.delete(fileWithUUID: file)
        try await phone.sync()
        tablet.app.forget()
        tablet.app.change {
            $0.deletionAnswer = { _ in isKept ? .rejectDownloadDeletion(.keepContentUpload) : .acceptDownloadDeletion }
        }
        try tablet.upload("mine", as: file)

        let report = try await tablet.sync()

        #expect(tablet.app.deletionConflicts.map { $0.map(\.attributes.fileUUID) } == [[file]])
        #expect(tablet.app.deletionConflicts.first?.first?.conflictType == .contentUpload(.file))
        #expect(tablet.app.taken.map(\.kind) == (isKept ? [] : [.deletion]))
        #expect(report.uploaded == (isKept ? 1 : 0))
        #expect(try phone.row(file)?.deleted?.bool == !isKept)
        if isKept { #expect(try await phone.received().map(\.text) == ["mine"]) }
        #expect(try tablet.leftovers() == [])
    }

    @Test("A deletion queued on both sides raises no conflict and is not delivered", arguments: ServerKind.allCases)
    func bothDelete(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = try await phone.publish("old")
        _ = try await tablet.received()
        try phone.client.delete(fileWithUUID: file)
        try await phone.sync()
        try tablet.client.delete(fileWithUUID: file)

        #expect(try await tablet.received().isEmpty)
        #expect(tablet.app.deletionConflicts.isEmpty && tablet.executor.count("UploadDeletion") == 0)
    }

    @Test("The server's side always wins if configured", arguments: ServerKind.allCases)
    func serverWins(kind: ServerKind) async throws {
        let (phone, tablet, file) = try await clash(kind) { $0.conflictResolver = .serverWins }
        try tablet.upload("mine", as: file)

        try await tablet.sync()

        #expect(tablet.app.conflicts.isEmpty && tablet.app.taken.map(\.text) == ["theirs"])
        #expect(try phone.row(file)?.fileVersion?.integer == 1)
    }

    @Test("The local side always wins if configured", arguments: ServerKind.allCases)
    func localWins(kind: ServerKind) async throws {
        let (phone, tablet, file) = try await clash(kind) { $0.conflictResolver = .localWins }
        try tablet.upload("mine", as: file)
        try await tablet.sync()
        #expect(tablet.app.conflicts.isEmpty && tablet.app.taken.isEmpty)
        #expect(try await phone.received().map(\.text) == ["mine"])

        // The other side deletes the file.
        try phone.client.delete(fileWithUUID: file)
        try await phone.sync()
        try tablet.upload("mine again", as: file)
        try await tablet.sync()
        #expect(try await phone.received().map(\.text) == ["mine again"])
    }

    @Test("Both sides are merged, and the merged file is sent in the same sync", arguments: ServerKind.allCases)
    func merge(kind: ServerKind) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "merge-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let inputs = Mutex<[MergeInput]>([])
        let (phone, tablet, file) = try await clash(kind) {
            $0.conflictResolver = .merge { input in
                inputs.withLock { $0.append(input) }
                let sides = [input.serverFile, input.localFile].compactMap { $0.flatMap { try? Data(contentsOf: $0) } }
                let merged = folder.appending(path: UUID().uuidString)
                try sides.reduce(into: Data()) { $0.append($1) }.write(to: merged)
                return MergedFile(file: merged, appMetaData: "both texts")
            }
        }
        try tablet.upload(" and mine", as: file, text: "my text")

        let report = try await tablet.sync()

        #expect(inputs.withLock { $0.map(\.attributes.appMetaData) } == ["their text"])
        #expect(inputs.withLock { $0.map(\.localAppMetaData) } == ["my text"])
        #expect(tablet.app.conflicts.isEmpty && tablet.app.taken.isEmpty && report.uploaded == 1)
        let received = try await phone.received()
        #expect(received.map(\.text) == ["theirs and mine"] && received.map(\.version) == [FileVersion(2)])
        #expect(received.first?.attributes.appMetaData == "both texts")
        #expect(try tablet.leftovers() == [])
    }

    @Test("Where deletions win over merging, a file changed on one side and deleted on the other is deleted for both")
    func mergeAndDeletions() async throws {
        for deletesHere in [true, false] {
            let (phone, tablet, file) = try await clash(.ours) {
                $0.conflictResolver = .merge(deletionsWin: true) { _ in throw TestApp.Refusal() }
            }
            if deletesHere {
                try tablet.client.delete(fileWithUUID: file)
            } else {
                try phone.client.delete(fileWithUUID: file)
                try await phone.sync()
                try tablet.upload("mine", as: file)
            }
            try await tablet.sync()

            #expect(tablet.app.conflicts.isEmpty && !tablet.client.uploadsPending)
            if deletesHere {
                #expect(try await phone.received().map(\.kind) == [.deletion])
            } else {
                #expect(tablet.app.taken.map(\.kind) == [.deletion])
            }
            #expect(try phone.row(file)?.deleted?.bool == true)
            #expect(try tablet.leftovers() == [])
        }
    }

    @Test("After a failed merge and a relaunch, the conflict is raised again and nothing is lost")
    func failedMerge() async throws {
        let (phone, tablet, file) = try await clash(.ours) {
            $0.conflictResolver = .merge { _ in throw TestApp.Refusal() }
        }
        try tablet.upload("mine", as: file)
        #expect(try await tablet.sync().wasDeferred)

        let again = try await tablet.relaunched { $0.conflictResolver = .localWins }
        try await again.sync()

        #expect(try await phone.received().map(\.text) == ["mine"])
        #expect(try again.leftovers() == [])
    }
}
