import Foundation
import MariaDB
import Providers
import Store
import SyncProtocol
import Testing
import Vault

@testable import SyncService

@Suite("Storing credentials")
struct CheckCredsTests {
    private let server: TestServer
    private let alice: Phone
    private let userID: UserID

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
        let reply = server.send(CheckCredsRequest(), as: alice)
        userID = UserID(Int64(try #require(reply.json["userId"] as? Int)))
    }

    private func checkCreds(code: String) -> FakeConnection {
        var headers = alice.headers
        headers[.authorizationCode] = code
        return server.send("GET", "/CheckCreds/", headers: headers)
    }

    private func stored() throws -> StoredCredentials {
        let sealed = try #require(try server.store.withSession { try $0.credentials(of: userID) })
        return try server.sealer.open(sealed.record, from: .user(userID))
    }

    @Test("A refresh token from a code survives an access token that another request stores at the same moment")
    func twin() throws {
        let (server, userID) = (server, userID)
        server.exchanges.during {
            let other = StoredCredentials(accessToken: "another device's")
            do {
                let record = try server.sealer.seal(other, for: .user(userID))
                _ = try server.store.transaction { try $0.storeCredentials(record, of: userID) }
            } catch {
                Issue.record(error)
            }
        }

        #expect(checkCreds(code: "one").status == 200)

        #expect(try stored().refreshToken == "from one")
    }

    @Test("An access token alone never replaces a refresh token that another request stores at the same moment")
    func overtaken() throws {
        let (server, userID) = (server, userID)
        let store: @Sendable (StoredCredentials) throws -> Void = { credentials in
            let record = try server.sealer.seal(credentials, for: .user(userID))
            _ = try server.store.transaction { try $0.storeCredentials(record, of: userID) }
        }
        try store(StoredCredentials(accessToken: "older"))
        server.exchanges.duringToken {
            do {
                try store(StoredCredentials(accessToken: "another device's", refreshToken: "newer"))
            } catch {
                Issue.record(error)
            }
        }

        #expect(server.send(CheckCredsRequest(), as: alice).status == 200)

        #expect(try stored().refreshToken == "newer")
    }

    @Test("A code whose tokens are stored is not sent again, even after its result was deleted")
    func storedCode() throws {
        #expect(checkCreds(code: "one").status == 200)
        try server.execute("DELETE FROM exchanged_codes")

        #expect(checkCreds(code: "one").status == 200)
        // The parameters with which a code was requested do not make it a different code.
        let detailed = server.send(
            CheckCredsRequest(), as: alice,
            adding: [.authorizationCode: "one", .redirectURI: "http://localhost:49152/code"])
        #expect(detailed.status == 200)

        #expect(server.exchanges.codes == ["one"])
    }

    @Test("A code exchanged for one user is rejected for another")
    func foreignCode() throws {
        #expect(checkCreds(code: "one").status == 200)
        var headers = try server.signUp("bob").headers
        headers[.authorizationCode] = "one"

        #expect(server.send("GET", "/CheckCreds/", headers: headers).status != 200)

        // The provider was asked, and knows the code's user.
        #expect(server.exchanges.codes == ["one", "one"])
    }

    @Test("A used code is not an error, and causes no delay, for a user whose refresh token is stored")
    func usedUp() throws {
        #expect(checkCreds(code: "one").status == 200)
        #expect(checkCreds(code: "two").status == 200)
        var connection = try Connection(server.settings!)
        try connection.execute("DELETE FROM exchanged_codes")
        let before = ContinuousClock.now

        #expect(checkCreds(code: "one").status == 200)

        #expect(before.duration(to: .now) < .seconds(4))
        #expect(try stored().refreshToken == "from two")
    }

    @Test("Of two concurrent first codes, neither overwrites the refresh token that only the other one returned")
    func firstCodes() throws {
        try server.execute("UPDATE users SET credentials = NULL")
        let (server, alice) = (server, alice)
        server.exchanges.during {
            let reply = server.send(CheckCredsRequest(), as: alice, adding: [.authorizationCode: "two"])
            #expect(reply.status == 200)
        }

        #expect(checkCreds(code: "no refresh").status == 200)

        #expect(try stored().refreshToken == "from two")
    }
}
