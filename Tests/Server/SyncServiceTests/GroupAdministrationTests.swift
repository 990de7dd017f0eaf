import Foundation
import SyncProtocol
import TestSupport
import Testing

@Suite("Administration of a group")
struct GroupAdministrationTests {
    private let server: TestServer
    private let alice: Phone

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private var masterVersion: Int64 {
        get throws { Int64(try server.count("SELECT master_version FROM sharing_groups")) }
    }

    private func update(
        _ member: Phone, to permission: Permission, from master: Int64? = nil, by phone: Phone? = nil
    ) throws -> FakeConnection {
        server.send(
            UpdateSharingGroupMemberRequest(
                sharingGroupUUID: alice.group, masterVersion: MasterVersion(try master ?? masterVersion),
                userID: try server.userID(of: member), permission: permission), as: phone ?? alice)
    }

    private func remove(_ user: UserID, from master: Int64? = nil, by phone: Phone? = nil) throws -> FakeConnection {
        server.send(
            RemoveSharingGroupMemberRequest(
                sharingGroupUUID: alice.group, masterVersion: MasterVersion(try master ?? masterVersion),
                userID: user), as: phone ?? alice)
    }

    private func members(by phone: Phone? = nil) -> [[String: Any]] {
        server.send(GetSharingGroupMembersRequest(sharingGroupUUID: alice.group), as: phone ?? alice)
            .json["sharingGroupMembers"] as? [[String: Any]] ?? []
    }

    // MARK: Members

    @Test("Every member sees all permissions, and whose storage is used")
    func list() throws {
        let bob = try server.join(alice, as: "bob", .read)

        let list = members(by: bob)

        #expect(list.map { $0["permission"] as? String } == ["admin", "read"])
        #expect(
            list.map { $0["userId"] as? Int64 } == [
                try server.userID(of: alice).rawValue, try server.userID(of: bob).rawValue,
            ])
        let owner = try server.userID(of: alice).rawValue
        #expect(list.map { $0["owningUserId"] as? Int64 } == [owner, owner])
        #expect(list.allSatisfy { ($0["name"] as? String)?.isEmpty == false })
        let eve = try server.signUp("eve")
        #expect(
            server.send(GetSharingGroupMembersRequest(sharingGroupUUID: alice.group), as: eve).code == "not_a_member")
    }

    @Test("A permission is changed at once, and the master version is incremented by one [F34]")
    func permission() throws {
        let bob = try server.join(alice, as: "bob", .write)

        let reply = try update(bob, to: .read)

        #expect(reply.status == 200 && reply.json.isEmpty)
        #expect(try masterVersion == 2)
        #expect(server.upload(someBytes(9), of: someFile(), master: 2, by: bob).code == "permission_too_low")
        #expect(try update(bob, to: .write, from: 1).json as? [String: Int] == ["masterVersionUpdate": 2])
        #expect(try update(bob, to: .admin).status == 200)
        #expect(members().map { $0["permission"] as? String } == ["admin", "admin"])
    }

    @Test("No one can demote or remove the last admin [F53]")
    func lastAdmin() throws {
        let bob = try server.join(alice, as: "bob", .admin)
        #expect(try update(alice, to: .write, by: bob).status == 200)

        for reply in [
            try update(bob, to: .read, by: bob), try remove(server.userID(of: bob), by: bob),
        ] {
            #expect(reply.status == 409 && reply.code == "last_admin")
        }
        #expect(try masterVersion == 2)
        #expect(try update(bob, to: .admin, by: bob).status == 200)
    }

    @Test("If two admins demote each other at the same moment, one remains admin")
    func mutualDemotion() throws {
        let bob = try server.join(alice, as: "bob", .admin)
        let (server, alice) = (server, alice)
        let users = [try server.userID(of: bob), try server.userID(of: alice)]

        let outcomes = concurrently(2) { index in
            server.send(
                UpdateSharingGroupMemberRequest(
                    sharingGroupUUID: alice.group, masterVersion: MasterVersion(1), userID: users[index],
                    permission: .write), as: index == 0 ? alice : bob
            ).body
        }

        #expect(try outcomes.filter { try $0.get() == Array("{}".utf8) }.count == 1)
        #expect(try server.count("SELECT COUNT(*) FROM memberships WHERE permission = 'admin'") == 1)
    }

    @Test("Only admins administer, and only members of the group")
    func rights() throws {
        let writer = try server.join(alice, as: "bob", .write)
        let eve = try server.signUp("eve")

        #expect(try update(alice, to: .read, by: writer).code == "permission_too_low")
        #expect(try remove(server.userID(of: alice), by: writer).code == "permission_too_low")
        #expect(try update(eve, to: .read, from: 1).code == "member_unknown")
        #expect(try remove(server.userID(of: eve), from: 1).code == "member_unknown")
        #expect(try remove(server.userID(of: writer), by: eve).code == "not_a_member")
        #expect(try server.count("SELECT MAX(master_version) FROM sharing_groups") == 1)
    }

    @Test("A removal hides the group, and treats files, staged changes and invitations like a departure [F34]")
    func removal() throws {
        let bob = try server.join(alice, as: "bob", .admin)
        _ = server.upload(someBytes(9), of: someFile(), master: 1, by: bob)
        _ = server.send(CreateSharingInvitationRequest(permission: .read, sharingGroupUUID: alice.group), as: bob)

        #expect(try remove(server.userID(of: bob)).status == 200)

        #expect(try masterVersion == 2)
        #expect(members().count == 1)
        #expect(server.upload(someBytes(9), of: someFile(), master: 2, by: bob).code == "not_a_member")
        #expect((server.send(IndexRequest(), as: bob).json["sharingGroups"] as? [Any])?.isEmpty == true)
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 0)
        #expect(try server.count("SELECT COUNT(*) FROM invitations") == 0)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject'") == 1)
    }

    @Test("A removed owner's files are listed as deleted, with the version at which they changed")
    func removedOwner() throws {
        let bob = try server.join(alice, as: "bob", .admin)
        _ = server.upload(someBytes(9), of: someFile(), master: 1, by: alice)
        _ = server.commit(from: 1, by: alice)

        #expect(try remove(server.userID(of: alice), by: bob).status == 200)

        let index = server.send(
            IndexRequest(sharingGroupUUID: alice.group, since: MasterVersion(2)), as: bob)
        #expect((index.json["fileIndex"] as? [[String: Any]])?.first?["deleted"] as? Bool == true)
    }

    // MARK: Invitations

    private func invite(_ permission: Permission = .write, acceptors: Int32 = 1) throws -> SharingInvitationUUID {
        let reply = server.send(
            CreateSharingInvitationRequest(
                permission: permission, sharingGroupUUID: alice.group, numberOfAcceptors: acceptors), as: alice)
        return try #require((reply.json["sharingInvitationUUID"] as? String).flatMap { SharingInvitationUUID($0) })
    }

    private func invitations(by phone: Phone? = nil) -> FakeConnection {
        server.send(GetSharingInvitationsRequest(sharingGroupUUID: alice.group), as: phone ?? alice)
    }

    @Test("Open invitations are listed for admins only, with their remaining acceptors")
    func listed() throws {
        let (one, many) = (try invite(), try invite(.read, acceptors: 3))
        try server.execute("UPDATE invitations SET expires_at = expires_at + INTERVAL 1 HOUR WHERE permission = 'read'")
        let expired = try invite()
        try server.execute(
            "UPDATE invitations SET expires_at = '2020-01-01' WHERE invitation_uuid = '\(expired.rawValue)'")
        var bob = Phone(name: "bob", accountType: .facebook)
        bob.group = alice.group
        _ = server.send(RedeemSharingInvitationRequest(sharingInvitationUUID: many), as: bob)

        let list = invitations().json["sharingInvitations"] as? [[String: Any]] ?? []

        #expect(list.map { $0["sharingInvitationUUID"] as? String } == [one.rawValue, many.rawValue])
        #expect(list.map { $0["numberOfAcceptors"] as? Int } == [1, 2])
        #expect(list.map { $0["permission"] as? String } == ["write", "read"])
        #expect(list.allSatisfy { $0["allowSocialAcceptance"] as? Bool == true })
        #expect(list.first?["invitingUserId"] as? Int64 == (try server.userID(of: alice).rawValue))
        #expect(
            list.first?["expirationDate"] as? String
                == WireDate(secondsSince1970: noon.secondsSince1970 + 86_400).description)
        #expect(invitations(by: bob).code == "permission_too_low")
    }

    @Test("A revoked invitation cannot be redeemed; revoking again, or revoking an unknown one, succeeds [F34]")
    func revoked() throws {
        let invitation = try invite()
        let eve = try server.signUp("eve")
        func revoke(_ group: SharingGroupUUID, by phone: Phone) -> FakeConnection {
            server.send(
                RevokeSharingInvitationRequest(sharingGroupUUID: group, sharingInvitationUUID: invitation), as: phone)
        }

        #expect(revoke(eve.group, by: eve).status == 200)
        #expect(try server.count("SELECT COUNT(*) FROM invitations") == 1)
        #expect(revoke(alice.group, by: eve).code == "not_a_member")
        for _ in 0..<2 {
            let reply = revoke(alice.group, by: alice)
            #expect(reply.status == 200 && reply.json.isEmpty)
        }
        #expect(
            server.send(
                RedeemSharingInvitationRequest(sharingInvitationUUID: invitation),
                as: Phone(name: "bob", accountType: .facebook)
            ).code == "invitation_unknown")
        #expect(try server.count("SELECT MAX(master_version) FROM sharing_groups") == 0)
    }

    @Test("A demoted admin cannot regain the permission through an earlier invitation")
    func invitationsOfFormerAdmin() throws {
        let bob = try server.join(alice, as: "bob", .admin)
        let kept = try invite(.admin)
        _ = server.send(CreateSharingInvitationRequest(permission: .admin, sharingGroupUUID: alice.group), as: bob)

        #expect(try update(bob, to: .admin).status == 200)
        #expect((invitations().json["sharingInvitations"] as? [Any])?.count == 2)
        #expect(try update(bob, to: .write).status == 200)

        let list = invitations().json["sharingInvitations"] as? [[String: Any]] ?? []
        #expect(list.map { $0["sharingInvitationUUID"] as? String } == [kept.rawValue])
    }
}
