import Store
import SyncProtocol
import Testing

@testable import SyncService

/// Tests of people who are held.
extension RebuildTests {
    @Test("A person whom no manifest names is held, since they may be a member of a group that is still missing")
    func stranger() throws {
        try writeManifests()
        let server = try rebuilt()
        let carol = Phone(name: "carol", accountType: .google)
        let signUp = AddUserRequest(sharingGroupUUID: carol.group, cloudFolderName: "F")
        #expect(server.send(signUp, as: carol).code == "restoring")
        try work(server)
        #expect(try server.count("SELECT COUNT(*) FROM rebuild_visits WHERE state = 'stranger'") == 1)
        #expect(server.send(CheckCredsRequest(), as: carol).code == "restoring")
        #expect(server.send(signUp, as: carol).code == "restoring")
        #expect(try server.count("SELECT COUNT(*) FROM users") == 0)

        try server.execute("UPDATE rebuilds SET ended_at = '2027-01-15 09:00:00'")
        server.services.maintenance?.refresh()
        #expect(server.send(CheckCredsRequest(), as: carol).code == "user_unknown")
        #expect(server.send(signUp, as: carol).status == 200)
        #expect(groups(carol, server).count == 1)
        // The number cannot be that of a former user.
        #expect(try server.userID(of: carol).rawValue >= 1_000_000_000)
    }

    @Test("A member with storage but without files is held until an owner has returned")
    func memberWithoutFiles() throws {
        let bob = try joined("bob", .google)
        try writeManifests()
        let server = try rebuilt()
        #expect(server.send(CheckCredsRequest(), as: bob).code == "restoring")
        try work(server)
        #expect(server.send(IndexRequest(), as: bob).code == "restoring")
        _ = server.send(CheckCredsRequest(), as: alice)
        try work(server)

        // His folder is read again, and he is recognised.
        #expect(server.send(IndexRequest(), as: bob).code == "restoring")
        try work(server)
        #expect(groups(bob, server).first?["permission"] as? String == "write")
        #expect(try server.count("SELECT COUNT(*) FROM users") == 2)
    }

    @Test("Nobody sees a list without a group to which they belong according to a manifest", arguments: [false, true])
    func missingGroup(isGivenUp: Bool) throws {
        // Bob is in Alice's group, and in one of Carol's, who joins none of Alice's.
        let bob = try lost.join(alice, as: "bob")
        let carol = try lost.signUp("carol")
        let hers = someFile()
        #expect(lost.upload(someBytes(5), of: hers, by: carol).status == 200)
        #expect(lost.commit(from: 0, by: carol).status == 200)
        // Manifests of Alice's group exist before Bob joins Carol's group, and are rewritten.
        try writeManifests()
        let invitation =
            lost.send(
                CreateSharingInvitationRequest(permission: .read, sharingGroupUUID: carol.group), as: carol
            ).json["sharingInvitationUUID"] as? String
        let code = try #require(invitation.flatMap { SharingInvitationUUID($0) })
        try #require(lost.send(RedeemSharingInvitationRequest(sharingInvitationUUID: code), as: bob).status == 200)
        try writeManifests()
        try writeManifests()

        let server = try rebuilt()
        #expect(server.send(CheckCredsRequest(), as: alice).code == "restoring")
        try work(server)
        #expect(groups(alice, server).count == 1)
        #expect(server.send(IndexRequest(), as: bob).code == "restoring")
        #expect(server.send(IndexRequest(sharingGroupUUID: alice.group), as: bob).code == "restoring")
        guard !isGivenUp else {
            try server.execute("DELETE FROM rebuild_awaited")
            return #expect(groups(bob, server).count == 1)
        }
        #expect(server.send(CheckCredsRequest(), as: carol).code == "restoring")
        try work(server)
        #expect(groups(bob, server).count == 2)
        #expect(groups(carol, server).count == 1)
    }

    @Test("With --hold, nobody is served before the end")
    func hold() throws {
        try writeManifests()
        let server = try rebuilt(holds: true)
        _ = server.send(CheckCredsRequest(), as: alice)
        try work(server)
        #expect(server.send(IndexRequest(), as: alice).code == "restoring")
        try server.execute("UPDATE rebuilds SET ended_at = '2027-01-15 09:00:00'")
        server.services.maintenance?.refresh()
        #expect(groups(alice, server).count == 1)
    }

    @Test("A process that has not seen the end yet adds nobody")
    func endUnseen() throws {
        let server = try rebuilt()
        try server.execute("UPDATE rebuilds SET ended_at = '2027-01-15 09:00:00'")
        let carol = Phone(name: "carol", accountType: .google)
        #expect(server.send(CheckCredsRequest(), as: carol).code == "restoring")
        #expect(try server.count("SELECT COUNT(*) FROM users") == 0)
        server.services.maintenance?.refresh()
        #expect(server.send(CheckCredsRequest(), as: carol).code == "user_unknown")
    }

    @Test("A member who returns after the end still gets their place")
    func latecomer() throws {
        let bob = try lost.join(alice, as: "bob", .read)
        try writeManifests()
        let server = try rebuilt()
        _ = server.send(CheckCredsRequest(), as: alice)
        try work(server)
        try server.execute("UPDATE rebuilds SET ended_at = '2027-01-15 09:00:00'")
        server.services.maintenance?.refresh()
        #expect(groups(bob, server).first?["permission"] as? String == "read")
        let dave = Phone(name: "dave", accountType: .facebook)
        #expect(server.send(CheckCredsRequest(), as: dave).code == "user_unknown")
    }
}
