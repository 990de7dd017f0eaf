import Foundation
import TestSupport
import Testing

@Suite("GetUploads")
struct StagedUploadTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Without staged uploads, the list is empty [180]")
    func nothing() throws {
        let alice = try server.signUpOwningUser()

        let reply = try alice.call("GET", "GetUploads", ["sharingGroupUUID": alice.group])

        expectJSON(reply)
        #expect(reply.json?.uploads == .array([]))
    }

    @Test("One upload is one entry with its fields [181]")
    func one() throws {
        let alice = try server.signUpOwningUser()
        var file = TestFile()
        file.fileGroup = UUID().uuidString
        let dates = try alice.stage(file, masterVersion: 0, metadata: TestMetadata(0, "not listed"))

        let entries = try alice.stagedUploads()

        #expect(entries.count == 1)
        let entry = try #require(entries.first)
        #expect(entry.fileUUID?.text == file.uuid)
        #expect(entry.fileVersion == .integer(0))
        #expect(entry.mimeType?.text == "text/plain")
        #expect(entry.deleted == .bool(false))
        #expect(entry.creationDate == dates.creationDate && entry.updateDate == dates.updateDate)
        #expect(entry.fileGroupUUID?.text == file.fileGroup)
        #expect(entry.sharingGroupUUID?.text == alice.group)
        #expect(entry.names.isDisjoint(with: ["cloudStorageType", "deviceUUID", "owningUserId", "appMetaData"]))
    }

    @Test("Two uploads are two entries, and a repeated upload adds none [182] [184]")
    func two() throws {
        let alice = try server.signUpOwningUser()
        let files = [TestFile("one"), TestFile("two")]
        for file in files + [files[0]] { try alice.stage(file, masterVersion: 0) }

        #expect(Set(try alice.stagedUploads().compactMap { $0.fileUUID?.text }) == Set(files.map(\.uuid)))
    }

    @Test("Staged uploads are not visible to other devices, users or groups [183]")
    func others() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        let carol = try server.signUpOwningUser(name: "Carol")
        #expect(try alice.redeem(carol.invite(.write)).status == 200)
        try alice.stage(TestFile(), masterVersion: 1)

        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.onAnotherDevice().stagedUploads().isEmpty)
        #expect(try bob.stagedUploads().isEmpty)
        #expect(try alice.stagedUploads(group: carol.group).isEmpty)
    }

    @Test("After the commit the list is empty [185]")
    func afterCommit() throws {
        let alice = try server.signUpOwningUser()
        try alice.publish(TestFile(), masterVersion: 0)

        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("An unknown group, or another user's, is a 410; text that is not a UUID is a 400 [186] [187]")
    func foreignGroups() throws {
        let alice = try server.signUpOwningUser()
        let stranger = try server.signUpOwningUser()

        for group in [UUID().uuidString, stranger.group] {
            expectError(
                try alice.call("GET", "GetUploads", ["sharingGroupUUID": group]), 410, goneReason: "userRemoved")
        }
        expectError(try alice.call("GET", "GetUploads", ["sharingGroupUUID": "foobar"]), 400)
    }

    @Test("A reader is rejected [189]")
    func reader() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)

        expectError(try bob.call("GET", "GetUploads", ["sharingGroupUUID": alice.group]), 409)
    }
}
