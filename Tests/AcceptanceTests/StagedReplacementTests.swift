import Foundation
import TestSupport
import Testing

/// How a device's new change to a file affects the row that it has already staged (docs/protocol.md 6.4).
@Suite("Replacement of staged rows")
struct StagedReplacementTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Metadata join an already staged upload, and both are committed [149]")
    func metadataAfterUpload() throws {
        let (alice, file) = try withFile()
        let next = file.next("version 1")
        try alice.stage(next, masterVersion: 1)

        try alice.stageMetadata(of: file, TestMetadata(0, "joined"), masterVersion: 1)

        let staged = try alice.stagedUploads()
        #expect(staged.count == 1)
        #expect(staged.first?.fileVersion?.integer == 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        expectDownload(
            try alice.download(next, masterVersion: 2, metadataVersion: 0), of: next, metadata: "joined")
    }

    @Test("New metadata replace those of a staged upload, and keep its bytes [149]")
    func metadataAfterUploadWithMetadata() throws {
        let (alice, file) = try withFile()
        let next = file.next("version 1")
        try alice.stage(next, masterVersion: 1, metadata: TestMetadata(0, "first"))

        try alice.stageMetadata(of: file, TestMetadata(0, "second"), masterVersion: 1)
        try alice.commitStaged(masterVersion: 1)

        expectDownload(
            try alice.download(next, masterVersion: 2, metadataVersion: 0), of: next, metadata: "second")
    }

    @Test("An upload without metadata keeps already staged metadata [149]")
    func uploadAfterMetadata() throws {
        let (alice, file) = try withFile()
        let next = file.next("version 1")
        try alice.stageMetadata(of: file, TestMetadata(0, "kept"), masterVersion: 1)

        try alice.stage(next, masterVersion: 1)

        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        expectDownload(try alice.download(next, masterVersion: 2, metadataVersion: 0), of: next, metadata: "kept")
    }

    @Test("New metadata replace staged metadata")
    func metadataAfterMetadata() throws {
        let (alice, file) = try withFile()
        try alice.stageMetadata(of: file, TestMetadata(0, "first"), masterVersion: 1)

        try alice.stageMetadata(of: file, TestMetadata(0, "second"), masterVersion: 1)

        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        #expect(
            try alice.downloadMetadata(of: file, version: 0, masterVersion: 2).json?.appMetaData?.text == "second")
    }

    @Test("A deletion replaces staged metadata and is not lost [179]")
    func deletionAfterMetadata() throws {
        let (alice, file) = try withFile()
        try alice.stageMetadata(of: file, TestMetadata(0, "in vain"), masterVersion: 1)

        try alice.stageDeletion(of: file, masterVersion: 1)

        #expect(try alice.stagedUploads().map(\.deleted) == [.bool(true)])
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        let entry = try alice.index().file(file)
        #expect(entry?.deleted?.bool == true)
        #expect(entry?.appMetaDataVersion == nil)
    }

    @Test("A deletion replaces a staged upload, whose object is deleted immediately [F4]")
    func deletionAfterUpload() async throws {
        let (alice, file) = try withFile()
        try alice.stage(file.next("in vain"), masterVersion: 1)
        #expect(try alice.stored(file).count == 2)

        try alice.stageDeletion(of: file, masterVersion: 1)

        #expect(try alice.stagedUploads().map(\.deleted) == [.bool(true)])
        try await eventually("only the committed object is stored") {
            try alice.stored(file).map(\.name) == [file.cloudName(device: alice.device)]
        }
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        try await eventually("nothing is stored") { try alice.stored(file).isEmpty }
    }

    @Test("An upload replaces a staged deletion [F4]")
    func uploadAfterDeletion() throws {
        let (alice, file) = try withFile()
        let next = file.next("changed my mind")
        try alice.stageDeletion(of: file, masterVersion: 1)

        try alice.stage(next, masterVersion: 1)

        #expect(try alice.stagedUploads().map(\.deleted) == [.bool(false)])
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        #expect(try alice.index().file(file)?.deleted?.bool == false)
        expectDownload(try alice.download(next, masterVersion: 2), of: next)
    }

    @Test("Metadata replace a staged deletion")
    func metadataAfterDeletion() throws {
        let (alice, file) = try withFile()
        try alice.stageDeletion(of: file, masterVersion: 1)

        try alice.stageMetadata(of: file, TestMetadata(0, "changed my mind"), masterVersion: 1)

        #expect(try alice.stagedUploads().map(\.deleted) == [.bool(false)])
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        expectDownload(
            try alice.download(file, masterVersion: 2, metadataVersion: 0), of: file, metadata: "changed my mind")
    }

    @Test("An undelete replaces a repeated deletion of the deleted file")
    func undeleteAfterDeletion() throws {
        let (alice, file) = try withFile()
        try alice.deleteAndCommit(file, masterVersion: 1)
        try alice.stageDeletion(of: file, masterVersion: 2)
        let next = file.next("second life")

        try alice.stage(next, masterVersion: 2, overriding: ["undeleteServerFile": "1"])

        #expect(try alice.commitStaged(masterVersion: 2) == 1)
        expectDownload(try alice.download(next, masterVersion: 3), of: next)
    }

    @Test("Metadata replace an upload that another device made obsolete, and its object is deleted")
    func metadataAfterLostUpload() async throws {
        let (alice, file) = try withFile()
        let phone = alice.onAnotherDevice()
        let won = file.next("won")
        try alice.stage(file.next("lost"), masterVersion: 1)
        try phone.publish(won, masterVersion: 1)

        try alice.stageMetadata(of: file, TestMetadata(0, "metadata"), masterVersion: 2)

        #expect(try alice.commitStaged(masterVersion: 2) == 1)
        expectDownload(try phone.download(won, masterVersion: 3, metadataVersion: 0), of: won, metadata: "metadata")
        try await eventually("only the winner's object is stored") {
            try alice.stored(file).map(\.name) == [won.cloudName(device: phone.device)]
        }
    }

    @Test("A rejected request replaces nothing")
    func refusedReplacesNothing() throws {
        let (alice, file) = try withFile()
        let next = file.next("stays staged")
        try alice.stage(next, masterVersion: 1)

        expectError(try alice.delete(file.next(""), masterVersion: 1), 409)
        expectError(try alice.changeMetadata(of: file, TestMetadata(3, "x"), masterVersion: 1), 409)
        expectStale(try alice.delete(file, masterVersion: 0), 1)
        var wrong = next
        wrong.contents = Array("other bytes".utf8)
        expectError(
            try alice.upload(wrong, masterVersion: 1, overriding: ["checkSum": String(repeating: "0", count: 32)]), 422)

        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        expectDownload(try alice.download(next, masterVersion: 2), of: next)
    }

    /// Signs up a user whose group has one file without metadata and master version 1.
    private func withFile() throws -> (alice: TestUser, file: TestFile) {
        let alice = try server.signUpOwningUser()
        let file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)
        return (alice, file)
    }
}
