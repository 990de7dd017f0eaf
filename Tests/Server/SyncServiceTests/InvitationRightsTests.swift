import SyncProtocol
import Testing

@testable import SyncService

@Suite("Permissions for a group's invitations")
struct InvitationRightsTests {
    private let server: TestServer
    private let alice: Phone

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private var invitations: Int { get throws { try server.count("SELECT COUNT(*) FROM invitations") } }

    @Test("Only admins create, list and revoke invitations", arguments: [Permission.read, .write, .admin])
    func rights(permission: Permission) throws {
        let bob = try server.join(alice, as: "bob", permission)
        let mayDoSo = permission == .admin
        let made = server.send(
            CreateSharingInvitationRequest(permission: .read, sharingGroupUUID: alice.group), as: alice)
        let code = try #require(made.json["sharingInvitationUUID"] as? String)
        let invitation = try #require(SharingInvitationUUID(code))
        #expect(try invitations == 1)

        let replies = [
            server.send(CreateSharingInvitationRequest(permission: .read, sharingGroupUUID: alice.group), as: bob),
            server.send(GetSharingInvitationsRequest(sharingGroupUUID: alice.group), as: bob),
            server.send(
                RevokeSharingInvitationRequest(sharingGroupUUID: alice.group, sharingInvitationUUID: invitation),
                as: bob),
        ]

        for reply in replies {
            #expect(reply.status == (mayDoSo ? 200 : 409))
            #expect(reply.code == (mayDoSo ? nil : "permission_too_low"))
        }
        // Either Bob's own remains, or Alice's.
        #expect(try invitations == 1)
        let guest = server.send(
            RedeemSharingInvitationRequest(sharingInvitationUUID: invitation),
            as: Phone(name: "carol", accountType: .facebook))
        #expect(guest.status == (mayDoSo ? 404 : 200))
    }
}
