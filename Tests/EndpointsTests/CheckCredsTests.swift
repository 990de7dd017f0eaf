import Accounts
import Foundation
import MariaDB
import Store
import SyncProtocol
import Testing
import UserStorage

@testable import Endpoints

@Suite("Taking over credentials")
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
        return try server.services.storage.sealer.open(sealed.record, from: .user(userID))
    }

    @Test("A refresh token from a code survives an access token that another request stores at the same moment")
    func twin() throws {
        let (server, userID) = (server, userID)
        server.exchanges.during {
            let other = StoredCredentials(accessToken: "another device's")
            do {
                let record = try server.services.storage.sealer.seal(other, for: .user(userID))
                _ = try server.store.transaction { try $0.storeCredentials(record, of: userID) }
            } catch {
                Issue.record(error)
            }
        }

        #expect(checkCreds(code: "one").status == 200)

        #expect(try stored().refreshToken == "from one")
    }

    @Test("A code that is used up is no error, and costs no wait, for a user whose refresh token is stored")
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
}
