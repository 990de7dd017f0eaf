import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Redeeming during the removal of the group")
struct RedemptionRaceTests {
    @Test("If a group is removed while a redemption waits for it, its invitations are gone: 404")
    func groupRemoved() async throws {
        let server = try TestServer()
        let alice = try server.signUp()
        let code =
            server.send(
                CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group), as: alice
            ).json["sharingInvitationUUID"] as? String
        let invitation = try #require(code.flatMap { SharingInvitationUUID($0) })
        let bob = Phone(name: "bob", accountType: .facebook)
        var removal = try Connection(server.settings!)
        try removal.begin()
        try removal.execute("UPDATE sharing_groups SET is_deleted = TRUE")

        async let reply = Threads.run {
            let reply = server.send(RedeemSharingInvitationRequest(sharingInvitationUUID: invitation), as: bob)
            return (reply.status, reply.code)
        }
        try await eventually("the redeemer waits for the group") {
            try server.count(
                """
                SELECT COUNT(*)
                  FROM information_schema.PROCESSLIST
                 WHERE DB = DATABASE()
                   AND INFO LIKE 'SELECT master_version FROM sharing_groups%FOR UPDATE'
                """) == 1
        }
        try removal.execute("DELETE FROM invitations")
        try removal.commit()

        let (status, error) = try await reply
        #expect(status == 404)
        #expect(error == "invitation_unknown")
        #expect(try server.count("SELECT COUNT(*) FROM users WHERE account_type = 'Facebook'") == 0)
    }
}
