import Foundation
import TestSupport
import Testing

@Suite("Administration of a group, metadata in the body, problem details")
struct GroupAdministrationTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private func update(
        _ user: TestUser, to permission: String, masterVersion: Int64, by admin: TestUser
    ) throws -> HTTPReply {
        try admin.call(
            "PATCH", "UpdateSharingGroupMember",
            [
                "sharingGroupUUID": admin.group, "masterVersion": String(masterVersion),
                "userId": String(user.userID), "permission": permission,
            ])
    }

    private func remove(_ user: TestUser, masterVersion: Int64, by admin: TestUser) throws -> HTTPReply {
        try admin.call(
            "POST", "RemoveSharingGroupMember",
            [
                "sharingGroupUUID": admin.group, "masterVersion": String(masterVersion),
                "userId": String(user.userID),
            ])
    }

    @Test("A promoted member can demote the admin, and then cannot be demoted as the last admin")
    func succession() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)

        #expect(try update(bob, to: "admin", masterVersion: 1, by: alice).json == .object([:]))
        expectStale(try update(bob, to: "admin", masterVersion: 1, by: alice), 2)
        #expect(try update(alice, to: "read", masterVersion: 2, by: bob).json == .object([:]))
        expectError(try update(bob, to: "read", masterVersion: 3, by: bob), 409)
        expectError(try remove(bob, masterVersion: 3, by: bob), 409)
        expectError(try update(bob, to: "read", masterVersion: 3, by: alice), 409)
        expectError(try update(bob, to: "owner", masterVersion: 3, by: bob), 400)
        #expect(try alice.groups().group(alice.group)?.permission?.text == "read")
        #expect(try alice.index().masterVersion == 3)
        let members = try alice.call("GET", "GetSharingGroupMembers", ["sharingGroupUUID": alice.group])
        #expect(members.json?["masterVersion"] == .integer(3))
        #expect(members.json?["sharingGroupMembers"]?.array?.compactMap { $0.permission?.text } == ["read", "admin"])
    }

    @Test("A removed member loses access immediately; if two admins remove each other, one remains")
    func removal() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin)

        let replies = try await Threads.run(2) { number in
            try number == 0
                ? remove(bob, masterVersion: 1, by: alice) : remove(alice, masterVersion: 1, by: bob)
        }

        #expect(replies.filter { $0.json == .object([:]) }.count == 1, "\(replies)")
        let (winner, loser) = replies[0].json == .object([:]) ? (alice, bob) : (bob, alice)
        expectError(try loser.commit(masterVersion: 2, group: alice.group), 410, goneReason: "userRemoved")
        #expect(try loser.groups().groups.isEmpty)
        #expect(try winner.index(of: alice.group).masterVersion == 2)
    }

    @Test("Invitations can be listed and revoked")
    func invitations() throws {
        let alice = try server.signUpOwningUser()
        let invitation = try alice.invite(.read, acceptors: 2)
        func list() throws -> [JSONValue]? {
            try alice.call("GET", "GetSharingInvitations", ["sharingGroupUUID": alice.group])
                .json?["sharingInvitations"]?.array
        }

        #expect(try list()?.first?.sharingInvitationUUID?.text == invitation)
        #expect(try list()?.first?["numberOfAcceptors"] == .integer(2))
        for _ in 0..<2 {
            let reply = try alice.call(
                "POST", "RevokeSharingInvitation",
                ["sharingGroupUUID": alice.group, "sharingInvitationUUID": invitation])
            #expect(reply.json == .object([:]))
        }
        #expect(try list()?.isEmpty == true)
        expectError(try server.newcomer(.facebook).redeem(invitation), 404)
    }

    @Test("Metadata of the maximum length can be sent in the body, and are returned", arguments: ["x", "/", "\""])
    func metadataBody(unit: String) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        let metadata = TestMetadata(0, String(repeating: unit, count: 65_535))
        let parameters = ["fileUUID": file.uuid, "masterVersion": "1", "sharingGroupUUID": alice.group]

        let reply = try alice.call("POST", "UploadAppMetaData", parameters, body: Array(metadata.parameter.utf8))
        #expect(reply.json == .object([:]), "\(reply)")
        try alice.commitStaged(masterVersion: 1)
        let back = try alice.downloadMetadata(of: file, version: 0, masterVersion: 2)
        #expect(back.json?.appMetaData?.text == metadata.contents)

        expectError(
            try alice.call(
                "POST", "UploadAppMetaData", parameters, body: [UInt8](repeating: 32, count: 512 * 1024 + 1)), 413)
    }

    @Test("Clients that explicitly accept problem details receive them")
    func problems() throws {
        for (accept, type) in [
            ("application/problem+json", "application/problem+json"), ("*/*", "application/json"),
        ] {
            let reply = try server.call("GET", "Index", headers: [("Accept", accept)])
            #expect(reply.status == 401)
            #expect(reply.values(of: "content-type") == [type])
            #expect(reply.json?["status"] == .integer(401) && reply.json?["title"] == .string("Unauthorized"))
            #expect((reply.json?["detail"] != nil) == (type == "application/problem+json"))
        }
    }
}
