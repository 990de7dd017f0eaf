import Foundation
import TestSupport
import Testing

@Suite("UploadDeletion")
struct DeletionTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A staged deletion is listed; its commit counts one and marks the file deleted [89] [163] [164] [165]")
    func deletion() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        let reply = try alice.delete(file, masterVersion: 1)

        expectJSON(reply)
        #expect(reply.json == .object([:]))
        let staged = try alice.stagedUploads()
        #expect(staged.count == 1)
        #expect(staged.first?.fileUUID?.text == file.uuid)
        #expect(staged.first?.deleted?.bool == true)
        #expect(staged.first?.fileVersion?.integer == 0)
        #expect(staged.first?.mimeType == nil)
        #expect(try alice.index().file(file)?.deleted?.bool == false)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        #expect(try alice.stagedUploads().isEmpty)
        let index = try alice.index()
        #expect(index.masterVersion == 2)
        #expect(index.file(file)?.deleted?.bool == true)
        #expect(index.file(file)?.fileVersion?.integer == 0)
        #expect(index.file(file)?.deviceUUID?.text == alice.device)
        try await eventually("the object is deleted") { try alice.stored(file).isEmpty }
    }

    @Test("A repeated deletion stages one row [166]")
    func twice() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        for _ in 0..<2 { #expect(try alice.delete(file, masterVersion: 1).json == .object([:])) }

        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
    }

    @Test("Two simultaneous identical deletions stage one row [166]")
    func twiceAtOnce() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        let replies = try await Threads.run(4) { _ in try alice.delete(file, masterVersion: 1) }

        for reply in replies { #expect(reply.status == 200 && reply.json == .object([:]), "\(reply)") }
        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
    }

    @Test("A deletion and an upload in one commit count two, and are listed with their kinds [167]")
    func withUpload() throws {
        let alice = try server.signUpOwningUser()
        let old = TestFile("old")
        let new = TestFile("new")
        try alice.publish(old, masterVersion: 0)
        try alice.stageDeletion(of: old, masterVersion: 1)
        try alice.stage(new, masterVersion: 1)

        let staged = try alice.stagedUploads()
        #expect(staged.count == 2)
        #expect(staged.first { $0.fileUUID?.text == old.uuid }?.deleted?.bool == true)
        #expect(staged.first { $0.fileUUID?.text == new.uuid }?.deleted?.bool == false)
        #expect(try alice.commitStaged(masterVersion: 1) == 2)
        let index = try alice.index()
        #expect(index.file(old)?.deleted?.bool == true)
        #expect(index.file(new)?.deleted?.bool == false)
    }

    @Test("Only the committed version can be deleted, from any device [168] [173]")
    func versions() throws {
        let alice = try server.signUpOwningUser()
        var file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)

        expectError(try alice.delete(file.next(""), masterVersion: 1), 409)
        #expect(try alice.delete(file.next(""), masterVersion: 1).json?.code?.text == "file_version_mismatch")

        for version in 1...2 {
            file = file.next("version \(version)")
            try alice.publish(file, masterVersion: Int64(version))
        }
        let phone = alice.onAnotherDevice()
        try phone.deleteAndCommit(file, masterVersion: 3)
        #expect(try alice.index().file(file)?.deleted?.bool == true)
    }

    @Test("A file that is not in the group cannot be deleted [169]")
    func unknown() throws {
        let alice = try server.signUpOwningUser()
        let staged = TestFile()
        try alice.stage(staged, masterVersion: 0)

        expectError(try alice.delete(TestFile(), masterVersion: 0), 404)
        // A staged file is not committed.
        expectError(try alice.delete(staged, masterVersion: 0), 404)
        #expect(try alice.stagedUploads().map(\.deleted) == [.bool(false)])
    }

    @Test("A stale deletion returns the current master version, and stages nothing [170]")
    func stale() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        for version in [Int64(100), 0] { expectStale(try alice.delete(file, masterVersion: version), 1) }

        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("A file uploaded by one device can be deleted by another, and its object is removed [172]")
    func fromAnotherDevice() async throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        #expect(try alice.stored(file).map(\.name) == [file.cloudName(device: alice.device)])

        try phone.deleteAndCommit(file, masterVersion: 1)

        #expect(try alice.index().file(file)?.deleted?.bool == true)
        try await eventually("the object is deleted") { try alice.stored(file).isEmpty }
    }

    @Test("Deletions in an unknown group, or another user's, are rejected [174] [175]")
    func foreignGroups() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        let file = TestFile()
        try carol.publish(file, masterVersion: 0)

        for group in [UUID().uuidString, carol.group] {
            expectError(try alice.delete(file, masterVersion: 1, group: group), 410, goneReason: "userRemoved")
        }
        expectError(try alice.delete(file, masterVersion: 0), 404)
    }

    @Test("A deleted file may be deleted again, with no effect except the commit [177]")
    func deletedAgain() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        try alice.deleteAndCommit(file, masterVersion: 1)

        try phone.deleteAndCommit(file, masterVersion: 2)

        let index = try alice.index()
        #expect(index.masterVersion == 3)
        #expect(index.file(file)?.deleted?.bool == true)
    }

    @Test("If two devices delete the same file, the slower commit is first stale, then has no effect")
    func twoDevices() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        try alice.stageDeletion(of: file, masterVersion: 1)
        try phone.stageDeletion(of: file, masterVersion: 1)
        try alice.commitStaged(masterVersion: 1)

        expectStale(try phone.commit(masterVersion: 1), 2)
        #expect(try phone.commitStaged(masterVersion: 2) == 1)

        #expect(try alice.index().file(file)?.deleted?.bool == true)
    }

    @Test("An object that its owner has already removed does not prevent the commit [178]")
    func removedByOwner() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        let other = TestFile("other")
        try alice.publish(file, masterVersion: 0)
        try alice.publish(other, masterVersion: 1)
        try server.sandbox.delete(file.cloudName(device: alice.device), in: alice.account)
        try alice.stageDeletion(of: file, masterVersion: 2)
        try alice.stageDeletion(of: other, masterVersion: 2)

        let reply = try alice.commit(masterVersion: 2)

        #expect(reply.json == .object(["numberUploadsTransferred": .integer(2)]))
        try await eventually("the other object is deleted") { try alice.stored(other).isEmpty }
    }

    @Test("Missing and malformed parameters are reported as such")
    func parameters() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        for name in ["fileUUID", "fileVersion", "masterVersion", "sharingGroupUUID"] {
            expectError(try alice.delete(file, masterVersion: 1, overriding: [name: String?.none]), 400)
        }
        expectError(try alice.delete(file, masterVersion: 1, overriding: ["fileUUID": "foobar"]), 400)
        expectError(try alice.delete(file, masterVersion: 1, overriding: ["fileVersion": "-1"]), 400)
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("The debugging parameter for immediate deletion is ignored: the deletion is staged")
    func actualDeletion() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        let reply = try alice.delete(file, masterVersion: 1, overriding: ["actualDeletion": "1"])

        #expect(reply.json == .object([:]))
        let index = try alice.index()
        #expect(index.masterVersion == 1)
        #expect(index.file(file)?.deleted?.bool == false)
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }
}
