import Foundation
import TestSupport
import Testing

@Suite("RemoveUser")
struct RemoveUserTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("An unknown user cannot be removed [59]")
    func unknown() throws {
        let reply = try server.newcomer().removeAccount()

        expectError(reply, 401)
        #expect(reply.json?.code?.text == "user_unknown")
    }

    @Test("A removed user is unknown from then on [60]")
    func removed() throws {
        let alice = try server.signUpOwningUser()

        let reply = try alice.removeAccount()

        expectJSON(reply)
        #expect(reply.json == .object([:]))
        expectError(try alice.checkCredentials(), 401)
        expectError(try alice.call("GET", "Index"), 401)
        expectError(try alice.removeAccount(), 401)
    }

    @Test("A sharing user can be removed, and the owner keeps their uploads [63]")
    func sharingUser() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        let file = TestFile()
        try bob.publish(file, masterVersion: 1)

        #expect(try bob.removeAccount().status == 200)

        expectError(try bob.checkCredentials(), 401)
        let index = try alice.index()
        #expect(index.masterVersion == 3)
        #expect(index.file(file)?.deleted?.bool == false)
        #expect(try alice.members() == [alice.userID])
        expectDownload(try alice.download(file, masterVersion: 3), of: file)
    }

    @Test("After removal, AddUser with another group on the same device creates a new user [55]")
    func addedAgain() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        var again = try await alice.removedAndSignedInAgain()
        again.group = UUID().uuidString

        let reply = try again.signUp()

        #expect(reply.status == 200, "\(reply)")
        again.userID = try #require(reply.json?.userId?.integer)
        #expect(again.userID != alice.userID)
        #expect(try again.groups().groups.compactMap { $0.sharingGroupUUID?.text } == [again.group])
        // The old group has no members, and its UUID cannot be used again.
        expectError(try again.call("GET", "Index", ["sharingGroupUUID": alice.group]), 404)
        expectError(try again.createGroup(alice.group), 409)
        // The old bytes are kept, and the same file can start again at version 0.
        try again.publish(file, masterVersion: 0)
        expectDownload(try again.download(file, masterVersion: 1), of: file)
        #expect(try again.stored(file).count == 2)
    }

    @Test("Files of a removed owner stay listed as deleted, and each group's version is incremented [61] [62] [F14]")
    func ownedFiles() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google, name: "Bob")
        let second = try alice.newGroup()
        #expect(try bob.redeem(alice.invite(.write, group: second)).status == 200)
        let files = [TestFile("first"), TestFile("second")]
        let bobs = TestFile("Bob's")
        try alice.publish(files[0], masterVersion: 1)
        try bob.publish(bobs, masterVersion: 2)
        try alice.publish(files[1], masterVersion: 1, group: second)

        #expect(try alice.removeAccount().status == 200)

        let index = try bob.index()
        #expect(index.masterVersion == 4)
        #expect(index.file(files[0])?.deleted?.bool == true)
        #expect(index.file(files[0])?.cloudStorageType?.text == "Google")
        #expect(index.file(files[0])?.owningUserId?.integer == alice.userID)
        #expect(index.file(bobs)?.deleted?.bool == false)
        #expect(try bob.index(of: second).masterVersion == 3)
        #expect(try bob.index(of: second).file(files[1])?.deleted?.bool == true)
        for file in files { #expect(try alice.stored(file).count == 1) }
        expectError(try bob.download(files[0], masterVersion: 4), 409)
    }

    @Test("Removing a user removes memberships, invitations and staged rows; sharing users lose their owner [69]")
    func everythingElse() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, name: "Bob")
        let dora = try alice.newMember(.write, provider: .google, name: "Dora")
        let invitation = try alice.invite(.write, acceptors: 5)
        try alice.stage(TestFile("staged by Alice"), masterVersion: 2)

        let returning = try await alice.removedAndSignedInAgain()

        expectError(
            try server.call("GET", "GetSharingInvitationInfo", ["sharingInvitationUUID": invitation]), 410)
        expectError(try server.newcomer(.facebook).redeem(invitation), 404)
        #expect(try bob.members() == [bob.userID, dora.userID])
        #expect(try bob.groups().group(alice.group)?.cloudStorageType == nil)
        // Dora has storage, so she is the admin now; a returning member is new and has nothing staged.
        #expect(try dora.groups().group(alice.group)?.permission?.text == "admin")
        #expect(try returning.redeem(dora.invite(.write, group: alice.group)).status == 200)
        #expect(try returning.stagedUploads().isEmpty)
    }

    @Test("Objects that a removed user staged into another user's storage are deleted")
    func stagedElsewhere() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        let files = [TestFile(), TestFile("next")]
        try alice.publish(files[1], masterVersion: 1)
        try bob.stage(files[0], masterVersion: 2)
        try bob.stage(files[1].next("by Bob"), masterVersion: 2)
        #expect(try alice.stored(files[0]).count == 1)
        #expect(try alice.stored(files[1]).count == 2)

        #expect(try bob.removeAccount().status == 200)

        try await eventually("only committed objects are stored") {
            try alice.stored(files[0]).isEmpty
                && alice.stored(files[1]).map(\.name) == [files[1].cloudName(device: alice.device)]
        }
        expectDownload(try alice.download(files[1], masterVersion: 3), of: files[1])
    }

    @Test(
        "A departing user's storage keeps no uncommitted uploads, even if the server must renew its tokens first",
        arguments: [(SandboxProvider.google, false), (.google, true), (.microsoft, true)])
    func ownUncommittedFiles(provider: SandboxProvider, isExpired: Bool) async throws {
        let alice = try server.signUpOwningUser(provider)
        let bob = try alice.newMember(.write)
        let committed = TestFile("committed")
        let files = [TestFile("Alice's"), TestFile("Bob's")]
        let stage = { (file: TestFile, user: TestUser, version: Int64) in
            let checkSum = provider == .microsoft ? file.sha1 : file.checkSum
            try user.stage(file, masterVersion: version, overriding: ["checkSum": checkSum])
        }
        _ = try stage(committed, alice, 1)
        try alice.commitStaged(masterVersion: 1)
        _ = try stage(files[0], alice, 2)
        _ = try stage(files[1], bob, 2)
        for file in files { #expect(try alice.stored(file).count == 1) }
        if isExpired { try server.sandbox.expireAccessTokens(of: alice.account) }

        #expect(try alice.removeAccount().status == 200)

        try await eventually("only committed objects are stored") {
            try files.allSatisfy { try alice.stored($0).isEmpty }
        }
        #expect(try alice.stored(committed).count == 1)
    }

    @Test("When its last member removes the account, the group is removed [299] [F15]")
    func lastMember() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        let invitation = try alice.invite(.write)
        #expect(try bob.leave(masterVersion: 1).status == 200)

        #expect(try alice.removeAccount().status == 200)

        expectError(try bob.redeem(invitation), 404)
        expectError(try server.signUpOwningUser().createGroup(alice.group), 409)
    }

    @Test("After the inviter's removal, the invitee can still download a third user's file [230]")
    func thirdOwner() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google, name: "Bob")
        let carol = try alice.newMember(.read, name: "Carol")
        let file = TestFile("Bob's")
        try bob.publish(file, masterVersion: 2)

        #expect(try alice.removeAccount().status == 200)

        expectDownload(try carol.download(file, masterVersion: 4), of: file)
    }

    @Test("After the inviter's removal, only invitees with storage can still upload [207] [250] [251]")
    func uploadsAfterwards() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google, name: "Bob")
        let carol = try alice.newMember(.write, name: "Carol")
        let file = TestFile("Bob's")
        let staged = TestFile("staged before")
        try bob.publish(file, masterVersion: 2)
        try carol.stage(staged, masterVersion: 3)
        #expect(try alice.removeAccount().status == 200)

        let phone = carol.onAnotherDevice()
        expectError(try phone.upload(TestFile(), masterVersion: 4), 410, goneReason: "userRemoved")
        expectError(try carol.commit(masterVersion: 4), 410, goneReason: "userRemoved")
        #expect(try carol.index().masterVersion == 4)
        try bob.publish(TestFile(), masterVersion: 4)
        let next = file.next("by Carol")
        try phone.publish(next, masterVersion: 5)
        expectDownload(try bob.download(next, masterVersion: 6), of: next)
        #expect(try bob.index().file(file)?.owningUserId?.integer == bob.userID)
    }

    @Test("An admin whose owner was removed cannot invite [268]")
    func inviting() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin)
        #expect(try bob.createInvitation(group: alice.group).status == 200)
        #expect(try alice.removeAccount().status == 200)

        let reply = try bob.createInvitation(group: alice.group)

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "owner_missing")
    }

    @Test("Other groups are not affected")
    func othersUntouched() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        let file = TestFile()
        try carol.publish(file, masterVersion: 0)

        #expect(try alice.removeAccount().status == 200)

        let index = try carol.index()
        #expect(index.masterVersion == 1)
        #expect(index.file(file)?.deleted?.bool == false)
    }
}
