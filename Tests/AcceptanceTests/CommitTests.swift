import Foundation
import TestSupport
import Testing

@Suite("DoneUploads")
struct CommitTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("With nothing staged, nothing is transferred, and the master version is incremented [190] [194] [200]")
    func nothingStaged() throws {
        let alice = try server.signUpOwningUser()

        let reply = try alice.commit(masterVersion: 0)
        let other = try alice.onAnotherDevice().commit(masterVersion: 1)

        expectJSON(reply)
        #expect(reply.json == .object(["numberUploadsTransferred": .integer(0)]))
        #expect(other.json == .object(["numberUploadsTransferred": .integer(0)]))
        #expect(try alice.index().masterVersion == 2)
    }

    @Test("The reply counts the committed rows [191] [192] [200]", arguments: [1, 2, 7])
    func counts(count: Int) throws {
        let alice = try server.signUpOwningUser()
        for number in 0..<count { try alice.stage(TestFile("file \(number)"), masterVersion: 0) }

        let reply = try alice.commit(masterVersion: 0)

        #expect(reply.json == .object(["numberUploadsTransferred": .integer(Int64(count))]))
        #expect(try alice.index().files.count == count)
        #expect(try alice.index().masterVersion == 1)
    }

    @Test("Version 0 and version 1 can be committed one after the other [193]")
    func twoVersions() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()

        try alice.stage(file, masterVersion: 0)
        #expect(try alice.commitStaged(masterVersion: 0) == 1)
        try alice.stage(file.next("next"), masterVersion: 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
    }

    @Test("An unknown group, or another user's, is a 410 [196] [197]")
    func foreignGroups() throws {
        let alice = try server.signUpOwningUser()
        let stranger = try server.signUpOwningUser()

        for group in [UUID().uuidString, stranger.group, "odd text"] {
            expectError(try alice.commit(masterVersion: 0, group: group), 410, goneReason: "userRemoved")
        }
        #expect(try stranger.index().masterVersion == 0)
    }

    @Test("A group name in the request renames the group [198]")
    func rename() throws {
        let alice = try server.signUpOwningUser(groupName: "Old")
        try alice.stage(TestFile(), masterVersion: 0)

        let reply = try alice.commit(masterVersion: 0, overriding: ["sharingGroupName": "New & shiny + 100% 'it'"])

        #expect(reply.json?.numberUploadsTransferred?.integer == 1)
        #expect(try alice.groups().group(alice.group)?.sharingGroupName?.text == "New & shiny + 100% 'it'")
    }

    @Test("A writer may also rename the group [F33]")
    func writerRenames() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)

        #expect(try bob.commit(masterVersion: 1, overriding: ["sharingGroupName": "Bob's"]).status == 200)
        #expect(try alice.groups().group(alice.group)?.sharingGroupName?.text == "Bob's")
    }

    @Test("A stale commit returns the current version, renames nothing and keeps the rows [199] [205]")
    func stale() throws {
        let alice = try server.signUpOwningUser(groupName: "Old")
        let phone = alice.onAnotherDevice()
        try alice.stage(TestFile("alice"), masterVersion: 0)
        try phone.publish(TestFile("phone"), masterVersion: 0)

        expectStale(try alice.commit(masterVersion: 0, overriding: ["sharingGroupName": "New"]), 1)
        expectStale(try alice.commit(masterVersion: 5), 1)

        #expect(try alice.groups().group(alice.group)?.sharingGroupName?.text == "Old")
        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
        #expect(try alice.index().files.count == 2)
    }

    @Test("If one row is no longer valid, the whole commit is rejected and all rows stay staged [206]")
    func badRow() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let file = TestFile("version 0")
        try alice.publish(file, masterVersion: 0)
        try alice.stage(file.next("lost"), masterVersion: 1)
        try alice.stage(TestFile("innocent"), masterVersion: 1)
        try phone.publish(file.next("won"), masterVersion: 1)

        expectError(try alice.commit(masterVersion: 2), 409)

        #expect(try alice.stagedUploads().count == 2)
        let index = try alice.index()
        #expect(index.masterVersion == 2)
        #expect(index.files.count == 1)
    }

    @Test("Rows of other devices, users and groups are not affected [121] [202]")
    func onlyOwnRows() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        let carol = try server.signUpOwningUser(name: "Carol")
        #expect(try alice.redeem(carol.invite(.write)).status == 200)
        try alice.stage(TestFile("mine 1"), masterVersion: 0)
        try alice.stage(TestFile("carol's 1"), masterVersion: 1, group: carol.group)
        try alice.stage(TestFile("mine 2"), masterVersion: 0)
        try phone.stage(TestFile("phone"), masterVersion: 0)

        #expect(try alice.commitStaged(masterVersion: 0) == 2)

        #expect(try phone.stagedUploads().count == 1)
        #expect(try alice.commitStaged(masterVersion: 1, group: carol.group) == 1)
        #expect(try phone.commitStaged(masterVersion: 1) == 1)
        #expect(try carol.index().files.count == 1)
    }

    @Test(
        "A push message that cannot be sent does not affect the commit [209] [F10]",
        arguments: ["Hello", "100% done & dusted + 🎉\n", ""])
    func push(message: String) throws {
        let alice = try server.signUpOwningUser()
        _ = try alice.newMember(.read)
        try alice.stage(TestFile(), masterVersion: 1)

        let reply = try alice.commit(masterVersion: 1, overriding: ["pushNotificationMessage": message])

        expectJSON(reply)
        #expect(reply.json?.numberUploadsTransferred?.integer == 1)
    }

    @Test("A commit repeated after a lost reply returns the same reply and takes effect once [211] [F13]")
    func repeated() throws {
        let alice = try server.signUpOwningUser()
        try alice.stage(TestFile(), masterVersion: 0)
        let first = try alice.commit(masterVersion: 0)

        let second = try alice.commit(masterVersion: 0)

        #expect(first.json == .object(["numberUploadsTransferred": .integer(1)]))
        #expect(second.json == first.json)
        #expect(try alice.index().masterVersion == 1)
        #expect(try alice.index().files.count == 1)
    }

    @Test("The stored reply is returned only for the identical request, until another commit [211]")
    func repeatedDifferently() throws {
        let alice = try server.signUpOwningUser()
        try alice.publish(TestFile(), masterVersion: 0)

        expectStale(try alice.commit(masterVersion: 0, overriding: ["sharingGroupName": "Other"]), 1)
        expectStale(try alice.onAnotherDevice().commit(masterVersion: 0), 1)
        try alice.onAnotherDevice().commitStaged(masterVersion: 1)
        expectStale(try alice.commit(masterVersion: 0), 2)
        #expect(try alice.groups().group(alice.group)?.names.contains("sharingGroupName") == false)
    }

    @Test("After a repeated commit, the next upload works normally [211]")
    func repeatedThenNext() throws {
        let alice = try server.signUpOwningUser()
        try alice.publish(TestFile(), masterVersion: 0)
        _ = try alice.commit(masterVersion: 0)
        try alice.stage(TestFile("next"), masterVersion: 1)

        expectStale(try alice.commit(masterVersion: 0), 1)
        #expect(try alice.commitStaged(masterVersion: 1) == 1)
    }
}
