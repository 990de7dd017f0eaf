import Foundation
import HTTPTransport
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing
import Vault

@testable import SyncService

@Suite("Authorization codes work once, even if requests arrive twice")
struct CodeExchangeTests {
    private let server: TestServer
    private let alice = Phone(name: "alice", accountType: .google)

    /// The relevant parts of a reply.
    private struct Reply: Sendable {
        let status: Int?
        let body: [UInt8]

        init(_ connection: FakeConnection) { (status, body) = (connection.status, connection.body) }
    }

    init() throws { server = try TestServer() }

    private func addUser(code: String, by phone: Phone? = nil) -> FakeConnection {
        let phone = phone ?? alice
        return server.send(
            AddUserRequest(sharingGroupUUID: phone.group, cloudFolderName: "F"), as: phone,
            adding: [.authorizationCode: code])
    }

    private func stored() throws -> StoredCredentials {
        let userID = try server.userID(of: alice)
        let sealed = try #require(try server.store.withSession { try $0.credentials(of: userID) })
        return try server.sealer.open(sealed.record, from: .user(userID))
    }

    @Test("Of several identical concurrent requests one exchanges the code, and all get the same reply")
    func twins() throws {
        let server = server
        server.exchanges.during { while server.waits.count < 20 { sched_yield() } }

        let replies = concurrently(4) { _ in Reply(addUser(code: "one")) }.successes()

        #expect(replies.map(\.status) == [200, 200, 200, 200])
        #expect(Set(replies.map(\.body)).count == 1)
        #expect(server.exchanges.codes == ["one"])
        #expect(try stored().refreshToken == "from one")
    }

    @Test("Identical concurrent redemptions exchange the code once")
    func redemptions() throws {
        let host = try server.signUp("host")
        let offered =
            server.send(
                CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: host.group), as: host
            ).json["sharingInvitationUUID"] as? String
        let invitation = try #require(offered.flatMap { SharingInvitationUUID($0) })
        let server = server
        server.exchanges.during { while server.waits.count < 20 { sched_yield() } }

        let replies = concurrently(4) { _ in
            Reply(
                server.send(
                    RedeemSharingInvitationRequest(sharingInvitationUUID: invitation, cloudFolderName: "F"), as: alice,
                    adding: [.authorizationCode: "one"]))
        }.successes()

        #expect(replies.map(\.status) == [200, 200, 200, 200])
        #expect(server.exchanges.codes == ["one"])
    }

    @Test("Redirect URI and verifier are sent to the provider only with their code")
    func redirect() throws {
        let verifier = String(repeating: "v", count: 43)
        let headers: [RequestHeader: String] = [
            .redirectURI: "http://localhost:49152/code", .codeVerifier: verifier,
        ]

        let reply = server.send(
            AddUserRequest(sharingGroupUUID: alice.group, cloudFolderName: "F"), as: alice,
            adding: headers.merging([.authorizationCode: "one"]) { $1 })
        let bare = server.send(CheckCredsRequest(), as: alice, adding: headers)

        #expect(reply.status == 200 && bare.status == 200)
        #expect(server.exchanges.details == [["http://localhost:49152/code", verifier]])
    }

    @Test("A redirect URI to another host is accepted only if the operator lists it")
    func listedRedirect() throws {
        let uri = "https://app.example.com/code"
        let listing = try TestServer(redirectURIs: [uri])
        let request = AddUserRequest(sharingGroupUUID: alice.group, cloudFolderName: "F")

        let refused = server.send(request, as: alice, adding: [.authorizationCode: "one", .redirectURI: uri])
        let taken = listing.send(request, as: alice, adding: [.authorizationCode: "one", .redirectURI: uri])

        #expect(refused.status == 400 && refused.json["code"] as? String == "malformed_header")
        #expect(server.exchanges.codes.isEmpty)
        #expect(taken.status == 200 && listing.exchanges.details == [[uri, nil]])
    }

    @Test("A rejected code is not sent again")
    func refused() {
        server.exchanges.fail(.codeRejected)
        #expect(addUser(code: "one").status == 409)
        server.exchanges.fail(nil)

        let again = addUser(code: "one")

        #expect(again.status == 409)
        #expect(again.json["code"] as? String == "authorization_code_rejected")
        #expect(server.exchanges.codes == ["one"])
        #expect(addUser(code: "two").status == 200)
    }

    @Test("A code whose result was lost is not sent again, and the user must sign in again")
    func lost() {
        server.exchanges.fail(.unavailable(detail: "connection lost"))
        #expect(addUser(code: "one").status == 502)
        server.exchanges.fail(nil)

        #expect(addUser(code: "one").status == 409)

        #expect(server.exchanges.codes == ["one"])
        #expect(addUser(code: "two").status == 200)
    }

    @Test(
        "A code that the provider has certainly not seen is sent again",
        arguments: [
            (AccountError.notAsked(retryAfter: Pauses.usual, detail: "status 503"), 429),
            (.misconfigured(detail: "invalid_client"), 502),
        ])
    func notAsked(error: AccountError, status: Int) throws {
        server.exchanges.fail(error)
        #expect(addUser(code: "one").status == status)
        #expect(addUser(code: "one").status == status)
        server.exchanges.fail(nil)

        #expect(addUser(code: "one").status == 200)

        #expect(server.exchanges.codes == ["one", "one", "one"])
        #expect(try stored().refreshToken == "from one")
    }

    @Test(
        "Codes of two phones, presented repeatedly, never restore earlier tokens, even after their results are deleted"
    )
    func alternating() throws {
        #expect(addUser(code: "one").status == 200)
        func check(_ code: String) -> Int? {
            server.send(CheckCredsRequest(), as: alice, adding: [.authorizationCode: code]).status
        }
        #expect(check("two") == 200)
        #expect(try stored().refreshToken == "from two")

        for code in ["one", "two", "one"] {
            #expect(check(code) == 200)
            #expect(try stored().refreshToken == "from two")
        }
        try server.execute("DELETE FROM exchanged_codes")
        #expect(check("one") == 200)

        #expect(server.exchanges.codes == ["one", "two"])
        #expect(check("three") == 200)
        #expect(try stored().refreshToken == "from three")
    }

    @Test("Eight earlier codes are remembered, even after the tokens are withdrawn")
    func formerCodes() {
        var stored = StoredCredentials(refreshToken: "r", codeHash: "0")
        for number in 1...9 {
            stored = stored.updated(with: StoredCredentials(refreshToken: "r", codeHash: "\(number)"))
        }
        for credentials in [stored, stored.withoutTokens] {
            #expect((0...9).map { credentials.knows(codeHash: "\($0)") } == [false] + Array(repeating: true, count: 9))
        }
    }
}
