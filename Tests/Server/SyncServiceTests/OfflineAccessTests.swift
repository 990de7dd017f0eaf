import MariaDB
import Store
import SyncProtocol
import Testing

@testable import SyncService

@Suite("Users without a refresh token")
struct OfflineAccessTests {
    private let server: TestServer

    init() throws { server = try TestServer() }

    private var warnings: Int {
        server.log.lines("Signed in without a refresh token: the storage is inaccessible once the access token expires")
            .count
    }

    /// For all users, by user number, as in the database.
    private func hasRefreshToken() throws -> [Bool?] {
        try server.store.withSession { session in
            try session.all("SELECT has_refresh_token FROM users ORDER BY user_id", []) { row throws(StoreError) in
                try row.optionalNumber(0).map { $0 == 1 }
            }
        }
    }

    @Test("Reply, log, metric and database report a missing token, the log once per sign-in, until a code yields one")
    func untilCode() throws {
        let alice = Phone(name: "alice", accountType: .google)
        let added = server.send(AddUserRequest(sharingGroupUUID: alice.group, cloudFolderName: "F"), as: alice)

        #expect(added.status == 200)
        #expect(added.header("syncserver-offline-access") == "none")
        #expect(warnings == 1)
        #expect(server.signInsWithoutOfflineAccess.count == 1)
        #expect(try hasRefreshToken() == [false])

        #expect(server.send(CheckCredsRequest(), as: alice).header("syncserver-offline-access") == "none")
        #expect(warnings == 1, "nothing was stored")

        let again = server.send(CheckCredsRequest(), as: alice, adding: [.authorizationCode: "no refresh"])
        #expect(again.header("syncserver-offline-access") == "none")
        #expect(warnings == 2)
        #expect(server.signInsWithoutOfflineAccess.count == 2)

        let mended = server.send(CheckCredsRequest(), as: alice, adding: [.authorizationCode: "one"])
        #expect(mended.status == 200)
        #expect(mended.header("syncserver-offline-access") == nil)
        #expect(server.send(CheckCredsRequest(), as: alice).header("syncserver-offline-access") == nil)
        #expect(warnings == 2)
        #expect(try hasRefreshToken() == [true])
    }

    @Test("Accounts without storage need no refresh token: nothing is reported")
    func noStorage() throws {
        let alice = Phone(name: "alice", accountType: .google)
        _ = server.send(
            AddUserRequest(sharingGroupUUID: alice.group, cloudFolderName: "F"), as: alice,
            adding: [.authorizationCode: "one"])

        let bob = try server.join(alice, as: "bob")

        #expect(server.send(CheckCredsRequest(), as: bob).header("syncserver-offline-access") == nil)
        #expect(warnings == 0)
        #expect(try hasRefreshToken() == [true, false])
    }

    @Test("A redemption with the user's own storage also reports a missing token")
    func redeemer() throws {
        let alice = try server.signUp()
        let code =
            server.send(
                CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group), as: alice
            ).json["sharingInvitationUUID"] as? String
        let invitation = try #require(code.flatMap { SharingInvitationUUID($0) })

        let reply = server.send(
            RedeemSharingInvitationRequest(sharingInvitationUUID: invitation, cloudFolderName: "F"),
            as: Phone(name: "bob", accountType: .google))

        #expect(reply.status == 200)
        #expect(reply.header("syncserver-offline-access") == "none")
    }
}
