import Foundation
import MariaDB
import SyncProtocol
import Testing

@Suite("Expired invitations")
struct InvitationExpiryTests {
    private let server: TestServer
    private let alice: Phone
    private let invitation: SharingInvitationUUID

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
        let created = server.send(
            CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group), as: alice)
        invitation = try #require(SharingInvitationUUID(created.json["sharingInvitationUUID"] as? String ?? ""))
        try #require(info().status == 200)
    }

    private func info() -> FakeConnection {
        server.send(GetSharingInvitationInfoRequest(sharingInvitationUUID: invitation), as: nil)
    }

    /// The server's clock does not move, so the invitation's end is moved to it.
    private func expire() throws {
        var connection = try Connection(server.settings!)
        try connection.execute("UPDATE invitations SET expires_at = ?", [.text(noon.description)])
    }

    @Test("GetSharingInvitationInfo gets 410, and deletes nothing [275]")
    func asking() throws {
        try expire()

        #expect(info().status == 410)
        #expect(info().json["code"] as? String == "invitation_gone")
        #expect(try server.count("SELECT COUNT(*) FROM invitations") == 1)
    }

    @Test("A redemption is rejected, and creates neither a user nor a member [293]")
    func redeeming() throws {
        try expire()
        let bob = Phone(name: "bob", accountType: .facebook)

        let reply = server.send(RedeemSharingInvitationRequest(sharingInvitationUUID: invitation), as: bob)

        #expect(reply.status == 404)
        #expect(reply.json["code"] as? String == "invitation_unknown")
        #expect(try server.count("SELECT COUNT(*) FROM users") == 1)
        #expect(try server.count("SELECT COUNT(*) FROM memberships") == 1)
        #expect(try server.count("SELECT master_version FROM sharing_groups") == 0)
    }
}
