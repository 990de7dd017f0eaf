import Foundation
import TestSupport
import Testing

@Suite("Deleted files and undelete")
struct UndeleteTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private let undelete: [String: String?] = ["undeleteServerFile": "1"]

    /// Signs up a user whose group has one deleted file and master version 2.
    private func withDeletedFile() throws -> (alice: TestUser, file: TestFile) {
        let alice = try server.signUpOwningUser()
        let file = TestFile("first life")
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, "kept"))
        try alice.deleteAndCommit(file, masterVersion: 1)
        return (alice, file)
    }

    @Test("A deleted file rejects uploads without undelete, and downloads [117] [195] [234]")
    func refused() throws {
        let (alice, file) = try withDeletedFile()
        let next = file.next("second life")

        for phone in [alice, alice.onAnotherDevice()] {
            let reply = try phone.upload(next, masterVersion: 2)
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "file_deleted")
        }
        let reply = try alice.download(file, masterVersion: 2, metadataVersion: 0)
        expectError(reply, 409)
        #expect(reply.json?.code?.text == "file_deleted")
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("Undelete with the next version restores the file with its previous metadata [118]")
    func undeleted() async throws {
        let (alice, file) = try withDeletedFile()
        let phone = alice.onAnotherDevice()
        let next = file.next("second life")

        try phone.stage(next, masterVersion: 2, overriding: undelete)
        #expect(try phone.stagedUploads().map(\.deleted) == [.bool(false)])
        #expect(try alice.index().file(file)?.deleted?.bool == true)
        #expect(try phone.commitStaged(masterVersion: 2) == 1)

        let entry = try alice.index().file(file)
        #expect(entry?.deleted?.bool == false)
        #expect(entry?.fileVersion?.integer == 1)
        #expect(entry?.deviceUUID?.text == phone.device)
        expectDownload(
            try alice.download(next, masterVersion: 3, metadataVersion: 0), of: next, metadata: "kept")
        try await eventually("only the new object is stored") {
            try alice.stored(file).map(\.name) == [next.cloudName(device: phone.device)]
        }
    }

    @Test("A repeated undelete stages one row, and the commit counts one [119]")
    func twice() async throws {
        let (alice, file) = try withDeletedFile()
        let next = file.next("second life")

        let first = try alice.stage(next, masterVersion: 2, overriding: undelete)
        let second = try alice.stage(next, masterVersion: 2, overriding: undelete)

        #expect(first == second)
        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.commitStaged(masterVersion: 2) == 1)
        #expect(try alice.index().file(file)?.deleted?.bool == false)
        try await eventually("one object is stored") { try alice.stored(file).count == 1 }
    }

    @Test("The committed version, or one after the next, does not restore the file")
    func wrongVersions() throws {
        let (alice, file) = try withDeletedFile()
        let tooNew = file.next("").next("too new")

        for version in [file, tooNew] {
            expectError(try alice.upload(version, masterVersion: 2, overriding: undelete), 409)
        }
    }

    @Test("A file that was deleted, undeleted and deleted again leaves nothing in the storage")
    func again() async throws {
        let (alice, file) = try withDeletedFile()
        let next = file.next("second life")
        try alice.stage(next, masterVersion: 2, overriding: undelete)
        try alice.commitStaged(masterVersion: 2)

        try alice.deleteAndCommit(next, masterVersion: 3)

        #expect(try alice.index().file(file)?.deleted?.bool == true)
        try await eventually("nothing is stored") { try alice.stored(file).isEmpty }
    }

    @Test("An older upload does not undo a committed deletion [F56]")
    func deletedMeanwhile() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        try phone.stage(file.next("too late"), masterVersion: 1)
        try alice.deleteAndCommit(file, masterVersion: 1)

        expectStale(try phone.commit(masterVersion: 1), 2)
        expectError(try phone.commit(masterVersion: 2), 409)

        #expect(try alice.index().file(file)?.deleted?.bool == true)
        // An explicit undelete expresses the user's intent and replaces the old row.
        try phone.stage(file.next("too late"), masterVersion: 2, overriding: undelete)
        #expect(try phone.commitStaged(masterVersion: 2) == 1)
        #expect(try alice.index().file(file)?.deleted?.bool == false)
    }

    @Test("A file that is live in another group cannot be undeleted in the first")
    func otherGroup() throws {
        let (alice, file) = try withDeletedFile()
        let other = try alice.newGroup()
        let phone = alice.onAnotherDevice()
        try phone.publish(file, masterVersion: 0, group: other)

        let reply = try alice.upload(file.next("second life"), masterVersion: 2, overriding: undelete)

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "file_in_other_group")
    }
}
