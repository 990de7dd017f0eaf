import Foundation
import TestSupport
import Testing

@Suite("Leaving a sharing group")
struct LeavingTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("When the last member leaves, the group is removed [90] [310]")
    func lastMember() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        let invitation = try alice.invite()

        let reply = try alice.leave(masterVersion: 1)

        expectJSON(reply)
        #expect(reply.json == .object([:]))
        #expect(try alice.groups().groups.isEmpty)
        expectError(try alice.leave(masterVersion: 2), 410, goneReason: "userRemoved")
        expectError(try server.newcomer(.facebook).redeem(invitation), 404)
        expectError(try alice.createGroup(alice.group), 409)
        #expect(try alice.stored(file).count == 1)
    }

    @Test("When a member leaves, the master version is incremented for the others [90] [311]")
    func notTheLast() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        let file = TestFile()
        try bob.publish(file, masterVersion: 1)

        #expect(try bob.leave(masterVersion: 2).json == .object([:]))

        #expect(try bob.groups().groups.isEmpty)
        expectError(try bob.download(file, masterVersion: 3), 410, goneReason: "userRemoved")
        expectError(try bob.leave(masterVersion: 3), 410, goneReason: "userRemoved")
        let index = try alice.index()
        #expect(index.masterVersion == 3)
        #expect(try alice.members() == [alice.userID])
        // Bob has no storage, so Alice owns the file and it is kept.
        #expect(index.file(file)?.deleted?.bool == false)
        expectDownload(try alice.download(file, masterVersion: 3), of: file)
    }

    @Test("A stale departure returns the current master version, and changes nothing [312]")
    func stale() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)

        for version in [Int64(0), 2] { expectStale(try bob.leave(masterVersion: version), 1) }

        #expect(try alice.members() == [alice.userID, bob.userID])
        #expect(try bob.index().masterVersion == 1)
    }

    @Test("A departing member's files are marked as deleted in this group only; the bytes are kept [313]")
    func ownedFiles() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google)
        let other = try bob.newGroup()
        let mine = TestFile("Alice's")
        let here = TestFile("Bob's here")
        let elsewhere = TestFile("Bob's elsewhere")
        try alice.publish(mine, masterVersion: 1)
        try bob.publish(here, masterVersion: 2)
        try bob.publish(elsewhere, masterVersion: 0, group: other)

        #expect(try bob.leave(masterVersion: 3).status == 200)

        let index = try alice.index()
        #expect(index.masterVersion == 4)
        #expect(index.file(mine)?.deleted?.bool == false)
        #expect(index.file(here)?.deleted?.bool == true)
        #expect(index.file(here)?.cloudStorageType?.text == "Google")
        #expect(index.file(here)?.owningUserId?.integer == bob.userID)
        #expect(try bob.index(of: other).file(elsewhere)?.deleted?.bool == false)
        #expect(try bob.stored(here).count == 1)
    }

    @Test("Users of a departed owner's storage cannot add files, but can do everything else [207] [314]")
    func ownerLeaves() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin, provider: .google, name: "Bob")
        let carol = try alice.newMember(.write, name: "Carol")
        let file = TestFile("Bob's")
        try bob.publish(file, masterVersion: 2)
        let phone = carol.onAnotherDevice()
        try phone.stage(TestFile("in vain"), masterVersion: 3)
        #expect(try carol.groups().group(alice.group)?.cloudStorageType?.text == "Google")

        #expect(try alice.leave(masterVersion: 3).status == 200)

        #expect(try carol.groups().group(alice.group)?.cloudStorageType == nil)
        expectError(try carol.upload(TestFile(), masterVersion: 4), 410, goneReason: "userRemoved")
        expectError(try phone.commit(masterVersion: 4), 410, goneReason: "userRemoved")
        #expect(try phone.stagedUploads().count == 1)
        expectDownload(try carol.download(file, masterVersion: 4), of: file)
        try carol.publish(file.next("by Carol"), masterVersion: 4)
        try carol.deleteAndCommit(file.next("by Carol"), masterVersion: 5)
    }

    @Test("If a new file's owner leaves, the phone's next upload of it gets 410, and the rest can be committed")
    func ownerLeavesDuringUploads() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google, name: "Bob")
        let carol = try alice.newMember(.write, name: "Carol")
        let file = TestFile("Bob's")
        let lost = TestFile("in vain")
        try bob.publish(file, masterVersion: 2)
        try carol.stage(lost, masterVersion: 3)

        #expect(try alice.leave(masterVersion: 3).status == 200)

        // Behaves like deployed clients: after a stale reply, it repeats everything and commits.
        #expect(try carol.commit(masterVersion: 3).json?.masterVersionUpdate?.integer == 4)
        for _ in 0..<2 {
            expectError(try carol.upload(lost, masterVersion: 4), 410, goneReason: "userRemoved")
        }
        let next = file.next("by Carol")
        try carol.stage(next, masterVersion: 4)
        #expect(try carol.commitStaged(masterVersion: 4) == 1)
        expectDownload(try bob.download(next, masterVersion: 5), of: next)
        // Alice's storage keeps no part of Carol's upload.
        try await eventually("the uncommitted file is deleted from the owner's storage") {
            try alice.stored(lost).isEmpty
        }
    }

    @Test("A user with a new owner uploads into that owner's storage")
    func anotherOwner() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin, provider: .google, name: "Bob")
        let carol = try alice.newMember(.write, name: "Carol")
        let file = TestFile()
        try carol.stage(file, masterVersion: 2)
        #expect(try alice.leave(masterVersion: 2).status == 200)
        #expect(try carol.leave(masterVersion: 3).status == 200)
        #expect(try carol.redeem(bob.invite(.write, group: alice.group)).status == 200)

        try carol.publish(file, masterVersion: 5)

        expectDownload(try bob.download(file, masterVersion: 6), of: file)
        #expect(try bob.stored(file).count == 1)
        try await eventually("the uncommitted file is deleted from the first owner's storage") {
            try alice.stored(file).isEmpty
        }
    }

    @Test("A former member's file cannot be undeleted into their storage")
    func undeleteAfterOwnerLeft() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google)
        let carol = try alice.newMember(.write, name: "Carol")
        let file = TestFile()
        try bob.publish(file, masterVersion: 2)
        try carol.stage(file.next("staged before"), masterVersion: 3)
        #expect(try bob.leave(masterVersion: 3).status == 200)

        expectError(
            try carol.upload(file.next("x"), masterVersion: 4, overriding: ["undeleteServerFile": "1"]), 410,
            goneReason: "userRemoved")
        expectError(try carol.upload(file.next("x"), masterVersion: 4), 409)
        // An uncommittable change does not block others.
        try carol.stage(TestFile(), masterVersion: 4)
        #expect(try carol.commitStaged(masterVersion: 4) == 1)
        // Deleting the deleted file again does not touch Bob's storage.
        try carol.deleteAndCommit(file, masterVersion: 5)
        #expect(try bob.stored(file).contains { $0.name == file.cloudName(device: bob.device) })
    }

    @Test("A departing member's staged changes in any storage, and their invitations, are withdrawn [F16]")
    func stagedRows() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin)
        let dora = try alice.newMember(.admin, provider: .google, name: "Dora")
        let files = [TestFile("staged by Bob"), TestFile("staged by Dora")]
        try bob.stage(files[0], masterVersion: 2)
        try dora.stage(files[1], masterVersion: 2)
        let invitations = [try bob.invite(group: alice.group), try dora.invite(group: alice.group)]
        let back = try alice.invite(.write, acceptors: 2)

        #expect(try bob.leave(masterVersion: 2).status == 200)
        #expect(try dora.leave(masterVersion: 3).status == 200)

        for invitation in invitations {
            expectError(
                try server.call("GET", "GetSharingInvitationInfo", ["sharingInvitationUUID": invitation]), 410)
        }
        try await eventually("the staged objects are deleted") {
            try alice.stored(files[0]).isEmpty && dora.stored(files[1]).isEmpty
        }
        for user in [bob, dora] {
            #expect(try user.redeem(back).status == 200)
            #expect(try user.stagedUploads().isEmpty)
        }
    }

    @Test("A returning member is treated like a new one; their files stay deleted until uploaded again")
    func rejoining() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google)
        let file = TestFile("first")
        try bob.publish(file, masterVersion: 1)
        #expect(try bob.leave(masterVersion: 2).status == 200)
        #expect(try bob.redeem(alice.invite(.write)).status == 200)
        #expect(try bob.index().file(file)?.deleted?.bool == true)
        let next = file.next("second")

        try alice.stage(next, masterVersion: 4, overriding: ["undeleteServerFile": "1"])
        #expect(try alice.commitStaged(masterVersion: 4) == 1)

        expectDownload(try bob.download(next, masterVersion: 5), of: next)
        // Bob kept his object when he left, so the server does not delete it.
        #expect(
            Set(try bob.stored(file).map(\.name)) == [
                file.cloudName(device: bob.device), next.cloudName(device: alice.device),
            ])
    }

    // MARK: Succession of admins

    @Test("While an admin remains, no member is promoted")
    func adminStays() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin)
        let carol = try alice.newMember(.write, provider: .google, name: "Carol")

        #expect(try alice.leave(masterVersion: 2).status == 200)

        #expect(try bob.groups().group(alice.group)?.permission?.text == "admin")
        #expect(try carol.groups().group(alice.group)?.permission?.text == "write")
    }

    @Test("After the last admin leaves, the owning member with the highest permission becomes admin [F53]")
    func owningSuccessor() throws {
        let alice = try server.signUpOwningUser()
        let facebook = try alice.newMember(.write, name: "First")
        let reader = try alice.newMember(.read, provider: .google, name: "Second")
        let writer = try alice.newMember(.write, provider: .google, name: "Third")

        #expect(try alice.leave(masterVersion: 3).status == 200)

        let permissions = try [facebook, reader, writer].map {
            try $0.groups().group(alice.group)?.permission?.text
        }
        #expect(permissions == ["write", "read", "admin"])
        #expect(try writer.rename(to: "Ours", masterVersion: 4).status == 200)
    }

    @Test("If no remaining member has storage, the longest-standing one becomes admin")
    func sharingSuccessor() throws {
        let alice = try server.signUpOwningUser()
        let first = try alice.newMember(.read, name: "First")
        let second = try alice.newMember(.write, name: "Second")

        #expect(try alice.leave(masterVersion: 2).status == 200)

        #expect(try first.groups().group(alice.group)?.permission?.text == "admin")
        #expect(try second.groups().group(alice.group)?.permission?.text == "write")
        // Inviting requires a storage, and no remaining member has one.
        let reply = try first.createInvitation(group: alice.group)
        expectError(reply, 409)
        #expect(reply.json?.code?.text == "owner_missing")
        #expect(try first.removeGroup(masterVersion: 3).status == 200)
    }
}
