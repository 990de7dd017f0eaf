import Foundation
import TestSupport
import Testing

@Suite("UploadAppMetaData")
struct AppMetaDataTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("The first metadata have version 0, from any device, and others can read them [136]")
    func first() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        let reply = try phone.changeMetadata(of: file, TestMetadata(0, "first"), masterVersion: 1)

        expectJSON(reply)
        #expect(reply.json == .object([:]))
        #expect(try alice.index().file(file)?.appMetaDataVersion == nil)
        #expect(try phone.commitStaged(masterVersion: 1) == 1)
        let download = try alice.downloadMetadata(of: file, version: 0, masterVersion: 2)
        expectJSON(download)
        #expect(download.json == .object(["appMetaData": .string("first")]))
    }

    @Test("A file without metadata accepts no version but 0 [135]")
    func wrongFirst() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        let reply = try alice.changeMetadata(of: file, TestMetadata(1, "x"), masterVersion: 1)

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "app_meta_data_version_mismatch")
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("After committed metadata, only the next version is accepted [137]")
    func wrongNext() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        try alice.stageMetadata(of: file, TestMetadata(0, "x"), masterVersion: 1)
        try alice.commitStaged(masterVersion: 1)

        for version in [0, 2] {
            expectError(try alice.changeMetadata(of: file, TestMetadata(version, "y"), masterVersion: 2), 409)
        }
    }

    @Test("Both kinds of download return new metadata; the rest of the file stays unchanged [138] [139] [140]")
    func next() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, "old"))
        let before = try #require(try alice.index().file(file))

        try phone.stageMetadata(of: file, TestMetadata(1, "new"), masterVersion: 1)
        #expect(try phone.commitStaged(masterVersion: 1) == 1)

        expectDownload(try alice.download(file, masterVersion: 2, metadataVersion: 1), of: file, metadata: "new")
        #expect(
            try alice.downloadMetadata(of: file, version: 1, masterVersion: 2).json
                == .object(["appMetaData": .string("new")]))
        let after = try #require(try alice.index().file(file))
        #expect(before.appMetaDataVersion?.integer == 0)
        #expect(after.appMetaDataVersion?.integer == 1)
        for name in ["deviceUUID", "creationDate", "updateDate", "mimeType", "fileVersion", "deleted", "owningUserId"] {
            #expect(after[name] != nil && after[name] == before[name], "\(name)")
        }
    }

    @Test("Deleted and unknown files accept no metadata [141] [142]")
    func noSuchFile() throws {
        let alice = try server.signUpOwningUser()
        let deleted = TestFile()
        let staged = TestFile("staged only")
        try alice.publish(deleted, masterVersion: 0)
        try alice.deleteAndCommit(deleted, masterVersion: 1)
        try alice.stage(staged, masterVersion: 2)

        let reply = try alice.changeMetadata(of: deleted, TestMetadata(0, "x"), masterVersion: 2)
        expectError(reply, 409)
        #expect(reply.json?.code?.text == "file_deleted")
        for file in [TestFile(), staged] {
            expectError(try alice.changeMetadata(of: file, TestMetadata(0, "x"), masterVersion: 2), 404)
        }
    }

    @Test("Unknown groups and other users' groups accept no metadata [143] [144]")
    func foreignGroups() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        let file = TestFile()
        try carol.publish(file, masterVersion: 0)

        for group in [UUID().uuidString, carol.group] {
            expectError(
                try alice.changeMetadata(of: file, TestMetadata(0, "x"), masterVersion: 1, group: group), 410,
                goneReason: "userRemoved")
        }
        expectError(try alice.changeMetadata(of: file, TestMetadata(0, "x"), masterVersion: 0), 404)
    }

    @Test("A request without metadata is rejected as invalid input [146] [F6]")
    func missing() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        let reply = try alice.changeMetadata(of: file, nil, masterVersion: 1)

        expectError(reply, 400)
        #expect(reply.json?.code?.text == "missing_parameter")
        let broken = try alice.call(
            "POST", "UploadAppMetaData",
            [
                "fileUUID": file.uuid, "appMetaData": "{\"version\":0", "masterVersion": "1",
                "sharingGroupUUID": alice.group,
            ])
        expectError(broken, 400)
    }

    @Test("The same metadata sent twice, consecutively or simultaneously, are one row [147]")
    func twice() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        let metadata = TestMetadata(0, "once")

        for _ in 0..<2 { try alice.stageMetadata(of: file, metadata, masterVersion: 1) }
        let replies = try await Threads.run(4) { _ in try alice.changeMetadata(of: file, metadata, masterVersion: 1) }

        for reply in replies { #expect(reply.status == 200 && reply.json == .object([:]), "\(reply)") }
        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
    }

    @Test("Stale metadata return the current master version, and nothing is staged [148]")
    func stale() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        for version in [Int64(0), 7] {
            expectStale(try alice.changeMetadata(of: file, TestMetadata(0, "x"), masterVersion: version), 1)
        }
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("Staged metadata are listed without version and type [188]")
    func listed() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        try alice.stageMetadata(of: file, TestMetadata(0, "x"), masterVersion: 1)

        let entry = try #require(try alice.stagedUploads().first)

        #expect(entry.fileUUID?.text == file.uuid)
        #expect(entry.sharingGroupUUID?.text == alice.group)
        #expect(entry.deleted?.bool == false)
        #expect(entry.fileVersion == nil && entry.mimeType == nil && entry.appMetaData == nil)
    }

    @Test("A reader may not change metadata; a writer may change those of another user's file")
    func permissions() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        let reader = try alice.newMember(.read)
        let writer = try alice.newMember(.write)

        expectError(try reader.changeMetadata(of: file, TestMetadata(0, "x"), masterVersion: 3), 409)
        try writer.stageMetadata(of: file, TestMetadata(0, "by the writer"), masterVersion: 3)
        try writer.commitStaged(masterVersion: 3)

        expectDownload(
            try reader.download(file, masterVersion: 4, metadataVersion: 0), of: file, metadata: "by the writer")
    }

    @Test("Two devices stage the same next version; the later one's is rejected at its commit [F41]")
    func race() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        try alice.stageMetadata(of: file, TestMetadata(0, "alice"), masterVersion: 1)
        try phone.stageMetadata(of: file, TestMetadata(0, "phone"), masterVersion: 1)
        try alice.commitStaged(masterVersion: 1)

        expectStale(try phone.commit(masterVersion: 1), 2)
        expectError(try phone.commit(masterVersion: 2), 409)
        // The next version replaces the rejected row.
        try phone.stageMetadata(of: file, TestMetadata(1, "merged"), masterVersion: 2)
        #expect(try phone.commitStaged(masterVersion: 2) == 1)

        #expect(
            try alice.downloadMetadata(of: file, version: 1, masterVersion: 3).json?.appMetaData?.text == "merged")
    }
}
