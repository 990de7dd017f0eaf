import Foundation
import TestSupport
import Testing

@Suite("Invitations")
struct InvitationTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// Calls GetSharingInvitationInfo without credentials.
    func info(_ invitation: String, headers: [(name: String, value: String)] = []) throws -> HTTPReply {
        try server.call(
            "GET", "GetSharingInvitationInfo", ["sharingInvitationUUID": invitation], headers: headers)
    }

    @Test(
        "An admin gets a UUID to pass on, and anybody can request its description [253] [254] [255] [270] [271] [373]",
        arguments: TestPermission.allCases)
    func created(permission: TestPermission) throws {
        let name = "Zoë & Björn, 100 %"
        let alice = try server.signUpOwningUser(name: "Alice “Al” Example", groupName: name)

        let invitation = try alice.invite(permission)

        #expect(UUID(uuidString: invitation) != nil)
        let reply = try info(invitation)
        expectJSON(reply)
        #expect(
            reply.json
                == .object([
                    "permission": .string(permission.rawValue), "allowSocialAcceptance": .bool(true),
                    "sharingGroupName": .string(name), "invitingUserName": .string("Alice “Al” Example"),
                ]))
    }

    @Test("The description names the inviting member, and gives the group's current name [373]")
    func names() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.newMember(.admin, name: "Carol").invite()
        let before = try info(invitation).json
        #expect(before?.names.contains("sharingGroupName") == false)
        #expect(before?.invitingUserName?.text == "Carol")

        expectJSON(try alice.rename(to: "Summer", masterVersion: 1))

        #expect(try info(invitation).json?.sharingGroupName?.text == "Summer")
    }

    @Test("A used-up, withdrawn or unknown invitation reveals no name [269] [272] [373]")
    func namelessRefusals() throws {
        let alice = try server.signUpOwningUser(name: "Alice Secret", groupName: "Secret")
        let used = try alice.invite()
        _ = try server.signUpInvitedUser(used)
        let withdrawn = try alice.invite()
        let parameters: [String: String?] = ["sharingGroupUUID": alice.group, "sharingInvitationUUID": withdrawn]
        expectJSON(try alice.call("POST", "RevokeSharingInvitation", parameters))

        for code in [used, withdrawn, UUID().uuidString] {
            let reply = try info(code)
            expectError(reply, 410)
            #expect(!String(decoding: reply.body, as: UTF8.self).contains("Secret"))
        }
    }

    @Test("The setting for social acceptance is stored [261] [270]", arguments: ["1", "0", "true", "false"])
    func socialAcceptance(text: String) throws {
        let alice = try server.signUpOwningUser()
        let reply = try alice.createInvitation(overriding: ["allowSocialAcceptance": text])
        let invitation = try #require(reply.json?.sharingInvitationUUID?.text)

        #expect(try info(invitation).json?.allowSocialAcceptance == .bool(text == "1" || text == "true"))
    }

    @Test("By default, an invitation is for anybody, once [267]")
    func defaults() throws {
        let alice = try server.signUpOwningUser()
        let reply = try alice.createInvitation(
            overriding: ["allowSocialAcceptance": nil, "numberOfAcceptors": nil])
        let invitation = try #require(reply.json?.sharingInvitationUUID?.text)

        #expect(try info(invitation).json?.allowSocialAcceptance == .bool(true))
        _ = try server.signUpInvitedUser(invitation)
        expectError(try info(invitation), 410)
    }

    @Test("1 to 10 acceptors are allowed [263] [264]", arguments: ["1", "2", "10"])
    func acceptors(count: String) throws {
        let alice = try server.signUpOwningUser()

        expectJSON(try alice.createInvitation(overriding: ["numberOfAcceptors": count]))
    }

    @Test(
        "Any other number of acceptors is rejected [262] [265]",
        arguments: ["0", "11", "-1", "4294967297", "one", "1.5", ""])
    func wrongAcceptors(count: String) throws {
        let alice = try server.signUpOwningUser()

        expectError(try alice.createInvitation(overriding: ["numberOfAcceptors": count]), 400)
    }

    @Test("Readers and writers cannot invite [257] [258]", arguments: [TestPermission.read, .write])
    func notAdmin(permission: TestPermission) throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(permission)

        expectError(try bob.createInvitation(), 409)
    }

    @Test("Non-members, and requests without credentials, cannot invite [259] [260]")
    func outsiders() throws {
        let alice = try server.signUpOwningUser()
        let stranger = try server.signUpOwningUser()
        let parameters: [String: String?] = ["permission": "read", "sharingGroupUUID": alice.group]

        expectError(try stranger.createInvitation(group: alice.group), 410, goneReason: "userRemoved")
        expectError(try alice.createInvitation(group: UUID().uuidString), 410, goneReason: "userRemoved")
        expectError(try server.call("POST", "CreateSharingInvitation", parameters), 401)
    }

    @Test("An invited admin without storage invites for the owner's storage [256] [276]")
    func sharingAdminInvites() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin)
        let dora = try bob.newMember(.write, name: "Dora")
        let file = TestFile("from Dora")

        try dora.publish(file, masterVersion: 2)

        #expect(try alice.stored(file).count == 1)
        #expect(try alice.index().file(file)?.owningUserId == .integer(alice.userID))
    }

    @Test("An invited admin with storage invites for their own [256]")
    func owningAdminInvites() throws {
        let alice = try server.signUpOwningUser()
        let carol = try alice.newMember(.admin, provider: .google, name: "Carol")
        let dora = try carol.newMember(.write, name: "Dora")
        let file = TestFile("from Dora")

        try dora.publish(file, masterVersion: 2)

        #expect(try carol.stored(file).count == 1)
        #expect(try alice.stored(file).isEmpty)
        #expect(try alice.index().file(file)?.owningUserId == .integer(carol.userID))
    }

    @Test("Inviting does not change the master version, and a repeated request creates another invitation")
    func twice() throws {
        let alice = try server.signUpOwningUser()

        #expect(try alice.invite() != alice.invite())
        #expect(try alice.index().masterVersion == 0)
    }

    @Test("An unknown invitation is a 410 without a reason [269]")
    func unknown() throws {
        expectError(try info(UUID().uuidString), 410)
    }

    @Test("A used-up invitation is a 410; one with acceptors left is not [272]")
    func redeemed() throws {
        let alice = try server.signUpOwningUser()
        let single = try alice.invite()
        let double = try alice.invite(acceptors: 2)
        _ = try server.signUpInvitedUser(single)
        _ = try server.signUpInvitedUser(double)

        expectError(try info(single), 410)
        expectJSON(try info(double))
    }

    @Test("Credentials are ignored, valid or not [14] [273]")
    func credentials() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite()
        let junk = alice.account.replacing(header: "access_token", with: "junk")

        expectJSON(try info(invitation, headers: alice.headers))
        expectJSON(try info(invitation, headers: junk.headers))
    }

    @Test("A text that is not a UUID is rejected as input [274] [324]", arguments: ["foobar", "", "1234-5678"])
    func malformed(text: String) throws {
        expectError(try info(text), 400)
    }

    @Test("The letter case of an invitation does not matter")
    func letterCase() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite()

        expectJSON(try info(invitation.lowercased()))
        expectJSON(try info(invitation.uppercased()))
    }
}
