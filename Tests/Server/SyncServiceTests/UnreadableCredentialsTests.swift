import Foundation
import Logging
import Providers
import Store
import SyncProtocol
import Testing
import Vault

@testable import SyncService

/// The situation after a lost or wrong sealing key, or damage in the database.
@Suite("Sealed records that cannot be opened")
struct UnreadableCredentialsTests {
    private let server: TestServer
    private let alice: Phone
    private let userID: UserID

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
        userID = try server.userID(of: alice)
        #expect(checkCreds(code: "one").status == 200)
        #expect(try stored()?.refreshToken == "from one")
    }

    private func checkCreds(code: String? = nil) -> FakeConnection {
        var headers = alice.headers
        headers[.authorizationCode] = code
        return server.send("GET", "/CheckCreds/", headers: headers)
    }

    private func stored() throws -> StoredCredentials? {
        let sealed = try #require(try server.store.withSession { try $0.credentials(of: userID) })
        return try? server.sealer.open(sealed.record, from: .user(userID))
    }

    /// Makes records look as if they were sealed with a key that the server does not have.
    private func loseKey(codes: Bool = false) throws {
        try server.execute("UPDATE users SET credentials = INSERT(credentials, 2, 4, 'lost')")
        if codes { try server.execute("UPDATE exchanged_codes SET credentials = INSERT(credentials, 2, 4, 'lost')") }
        #expect(try stored() == nil)
    }

    private var setAside: Int {
        get throws { try server.count("SELECT COUNT(*) FROM users WHERE former_credentials IS NOT NULL") }
    }

    @Test("A new code replaces the record with new credentials, with a warning and a count for the operator")
    func newCode() throws {
        try loseKey(codes: true)

        let reply = checkCreds(code: "two")

        #expect(reply.status == 200, "\(reply.json)")
        #expect(reply.header("syncserver-offline-access") == nil)
        #expect(try stored()?.refreshToken == "from two")
        #expect(try setAside == 0)
        #expect(server.unreadableRecords.count > 0)
        let lines = server.log.lines("Credentials cannot be opened and are treated as absent")
        #expect(lines.count == server.unreadableRecords.count)
        #expect(lines.allSatisfy { $0["reason"]?.hasPrefix("The record is sealed with key") == true })
    }

    @Test("A corrupt record counts as missing, like one sealed with another key")
    func damaged() throws {
        for damage in ["REVERSE(credentials)", "'x'", "CONCAT(credentials, 'x')"] {
            try server.execute("UPDATE users SET credentials = \(damage)")
            #expect(checkCreds(code: "after \(damage)").status == 200)
            #expect(try stored()?.refreshToken == "from after \(damage)")
        }
    }

    @Test(
        "Without a new refresh token the record is set aside, and its refresh token counts again when its key returns",
        arguments: ["no refresh", "one", nil])
    func keyComesBack(code: String?) throws {
        try loseKey(codes: true)

        let reply = checkCreds(code: code)

        #expect(reply.status == 200, "\(reply.json)")
        #expect(reply.header("syncserver-offline-access") == "none")
        #expect(try stored()?.refreshToken == nil)
        #expect(try setAside == 1)
        #expect(checkCreds(code: code).header("syncserver-offline-access") == "none")

        // The current record is sealed with the right key.
        try server.execute(
            """
            UPDATE users
               SET former_credentials = INSERT(former_credentials, 2, 4, SUBSTRING(credentials, 2, 4))
            """)
        #expect(checkCreds().header("syncserver-offline-access") == nil)
        #expect(checkCreds(code: "no refresh again").status == 200)
        #expect(try stored()?.refreshToken == "from one")
        #expect(try setAside == 0)
    }

    @Test("A later withdrawal of consent also revokes the refresh token that was set aside")
    func withdrawn() throws {
        try loseKey(codes: true)
        #expect(checkCreds().status == 200)
        #expect(try setAside == 1)
        let vault = server.services.storage.vault
        let logger = Logger(label: "test", factory: { [log = server.log] _ in log })

        let user = try #require(try server.store.withSession { try $0.user(userID) })
        let updated = try vault.update(user, logger) { _ in
            StoredCredentials(accessToken: "a", identity: IdentityRecord(withdrawnAt: noon.secondsSince1970))
        }

        #expect(updated?.isChanged == true)

        #expect(try setAside == 0)
    }

    @Test("A record that was set aside is found even if its replacement cannot be opened")
    func keysSwapped() throws {
        let original = try #require(try server.store.withSession { try $0.credentials(of: userID) }).record
        try loseKey(codes: true)
        #expect(checkCreds().status == 200)
        let hex = original.map { String(format: "%02X", $0) }.joined()
        try loseKey()
        try server.execute("UPDATE users SET former_credentials = X'\(hex)'")

        #expect(checkCreds().header("syncserver-offline-access") == nil)

        #expect(try stored()?.refreshToken == "from one")
        #expect(try setAside == 0)
    }
}
