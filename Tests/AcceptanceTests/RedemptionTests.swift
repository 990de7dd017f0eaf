import Foundation
import TestSupport
import Testing

@Suite("Redeeming invitations")
struct RedemptionTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A new Facebook user gets an id, the group and a long-lived token [276] [277]")
    func newSharingUser() throws {
        let alice = try server.signUpOwningUser()
        let bob = try server.newcomer(.facebook)

        let reply = try bob.redeem(alice.invite())

        expectJSON(reply)
        #expect(reply.json?.userId?.integer ?? 0 > 0)
        #expect(reply.json?.sharingGroupUUID?.text == alice.group)
        #expect(reply.headers.filter { $0.name == "syncserver-access-token" }.count == 1)
        #expect(try bob.groups().group(alice.group)?.cloudStorageType?.text == "Google")
    }

    @Test("A Facebook user of Limited Login can join with only an identity token")
    func limitedLogin() throws {
        let alice = try server.signUpOwningUser()
        let bob = try server.newcomer(.facebook, tokenType: "LIMITED")

        let reply = try bob.redeem(alice.invite(.write))

        expectJSON(reply)
        #expect(reply.values(of: "syncserver-access-token").isEmpty, "no longer-lived token exists")
        expectJSON(try bob.checkCredentials())
        let again = bob.with(account: try server.sandbox.account(bob.account.id))
        #expect(again.account.headers.map(\.value) != bob.account.headers.map(\.value))
        #expect(try again.checkCredentials().json?.userId == reply.json?.userId)
    }

    @Test("A new Google user becomes an owner, whose storage the server can use [249] [276] [288]")
    func newOwningUser() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpInvitedUser(
            alice.invite(.write, allowSocialAcceptance: false), provider: .google, name: "Carol")
        let file = TestFile("from Carol")

        try carol.publish(file, masterVersion: 1)

        #expect(try carol.stored(file).count == 1)
        #expect(try carol.index().file(file)?.owningUserId == .integer(carol.userID))
    }

    @Test("A new Google user finds the warning file in their storage [51] [F37]")
    func warningFile() async throws {
        let configuration = try InitialFile(of: server)
        let alice = try server.signUpOwningUser()
        let carol = try alice.newMember(.read, provider: .google)

        try await eventually("the warning file exists") {
            try server.sandbox.files(of: carol.account).contains { $0.name == configuration.name }
        }
    }

    @Test("A new Google user without a folder name is rejected, and no acceptance is used up [278] [292]")
    func folderMissing() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.newcomer()
        let invitation = try alice.invite()

        expectError(
            try carol.call("POST", "RedeemSharingInvitation", ["sharingInvitationUUID": invitation]), 400)

        expectError(try carol.checkCredentials(), 401)
        #expect(try alice.index().masterVersion == 0)
        expectJSON(try carol.redeem(invitation))
    }

    @Test("A missing invitation gets 400, an unknown one 404 [279] [321] [322]")
    func noInvitation() throws {
        let bob = try server.newcomer(.facebook)

        expectError(try bob.call("POST", "RedeemSharingInvitation"), 400)
        expectError(try bob.call("POST", "RedeemSharingInvitation", ["sharingInvitationUUID": ""]), 400)
        expectError(try bob.redeem(UUID().uuidString), 404)
        expectError(try bob.redeem("some text"), 400, 404)
        expectError(try bob.checkCredentials(), 401)
    }

    @Test("The inviter and other members cannot redeem, and no acceptance is used up [280] [283] [292]")
    func members() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)
        let invitation = try alice.invite(.admin)

        expectError(try alice.redeem(invitation), 409)
        expectError(try bob.redeem(invitation), 409)

        #expect(try alice.index().masterVersion == 1)
        #expect(try bob.groups().group(alice.group)?.permission?.text == "read")
        _ = try server.signUpInvitedUser(invitation)
    }

    @Test("An owning user of another group can join with their own storage [281] [289]")
    func existingOwningUser() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")

        let reply = try carol.call(
            "POST", "RedeemSharingInvitation", ["sharingInvitationUUID": try alice.invite()])

        expectJSON(reply)
        #expect(reply.json?.userId == .integer(carol.userID))
        #expect(reply.json?.sharingGroupUUID?.text == alice.group)
        #expect(try carol.groups().groups.count == 2)
        #expect(try carol.groups().group(alice.group)?.names.contains("cloudStorageType") == false)
        let file = TestFile("from Carol")
        try carol.publish(file, masterVersion: 1, group: alice.group)
        #expect(try carol.stored(file).count == 1)
    }

    @Test("A sharing user has a separate owner in each group [282] [202]")
    func secondGroup() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        let bob = try alice.newMember(.write)
        #expect(try bob.redeem(carol.invite(.write)).status == 200)
        let forAlice = TestFile("for Alice")
        let forCarol = TestFile("for Carol")

        try bob.publish(forAlice, masterVersion: 1)
        try bob.publish(forCarol, masterVersion: 1, group: carol.group)

        #expect(try alice.stored(forAlice).count == 1)
        #expect(try carol.stored(forCarol).count == 1)
        #expect(try alice.stored(forCarol).isEmpty && carol.stored(forAlice).isEmpty)
    }

    @Test("After one redemption, a single-use invitation is used up for every user [284] [285]")
    func usedUp() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite()
        _ = try server.signUpInvitedUser(invitation)
        let second = try server.newcomer(.facebook)

        expectError(try second.redeem(invitation), 404)

        expectError(try second.checkCredentials(), 401)
        #expect(try alice.index().masterVersion == 1)
    }

    @Test("Two acceptances admit two users, and each increments the master version [286] [291]")
    func twoAcceptors() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite(acceptors: 2)

        _ = try server.signUpInvitedUser(invitation)
        #expect(try alice.index().masterVersion == 1)
        _ = try server.signUpInvitedUser(invitation)
        #expect(try alice.index().masterVersion == 2)

        expectError(try server.newcomer(.facebook).redeem(invitation), 404)
        #expect(try alice.index().masterVersion == 2)
    }

    @Test("If two people redeem the last acceptance at the same time, one gets it")
    func simultaneous() async throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite()
        let people = [try server.newcomer(.facebook), try server.newcomer(.facebook)]

        let replies = try await Threads.run(2) { try people[$0].redeem(invitation) }

        #expect(replies.map(\.status).sorted() == [200, 404], "\(replies)")
        #expect(try alice.index().masterVersion == 1)
    }

    @Test("If storage is required, a Facebook user gets a 403, and no acceptance is used up [287] [292]")
    func storageRequired() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite(.write, allowSocialAcceptance: false)
        let bob = try server.newcomer(.facebook)

        for _ in 0..<3 { expectError(try bob.redeem(invitation), 403) }

        expectError(try bob.checkCredentials(), 401)
        #expect(try alice.index().masterVersion == 0)
        _ = try server.signUpInvitedUser(invitation, provider: .google)
    }

    @Test("After a redemption, the group lists all members with name and id [290]")
    func memberList() throws {
        let alice = try server.signUpOwningUser(name: "Alice A")
        let bob = try alice.newMember(.read, name: "Bob B")

        let users = try alice.groups().group(alice.group)?.sharingGroupUsers?.array ?? []

        #expect(Set(users.compactMap { $0.name?.text }) == ["Alice A", "Bob B"])
        #expect(Set(users.compactMap { $0.userId?.integer }) == [alice.userID, bob.userID])
    }

    @Test("A redemption repeated after a lost reply returns the same reply and uses up no acceptance")
    func repeated() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite(acceptors: 2)
        let bob = try server.newcomer(.facebook)
        let first = try bob.redeem(invitation)

        let second = try bob.redeem(invitation)

        expectJSON(second)
        #expect(second.json == first.json)
        #expect(try alice.index().masterVersion == 1)
        _ = try server.signUpInvitedUser(invitation)
    }

    @Test("A repeated redemption of a single-use invitation returns the same reply")
    func repeatedSingleUse() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite()
        let carol = try server.newcomer()
        let first = try carol.redeem(invitation)

        let second = try carol.redeem(invitation)

        expectJSON(second)
        #expect(second.json == first.json)
        #expect(try alice.index().masterVersion == 1)
    }
}
