import OpenSSLCrypto
import Operations
import Providers
import Store
import SyncProtocol
import Testing
import Vault

@Suite("Rotation of sealing keys")
struct KeyRotationTests {
    private static let removed = UserID(39)
    private static let formerAccount = CredentialSealer.Place.formerAccount(UserID(1_001), AccountEpoch(3))
    private struct Interruption: Error {}

    private let fixture: AdministrationFixture
    private let former = try! SealingKey([UInt8](repeating: 7, count: 32))
    private let current = try! SealingKey([UInt8](repeating: 8, count: 32))
    private var keys: KeyRing { KeyRing(current: current, older: [former]) }
    private var rotation: KeyRotation { KeyRotation(store: fixture.store, keys: keys) }
    /// Knows only the new key.
    private var newSealer: CredentialSealer { CredentialSealer(keys: KeyRing(current: current)) }

    init() throws {
        fixture = try AdministrationFixture()
        // Alice is sealed already; this adds 249 users and a code.
        try fixture.run(
            """
            INSERT INTO users (user_id, account_type, provider_user_id, display_name, cloud_folder_name, created_at)
            SELECT seq + 1000, 'Google', CONCAT('n-', seq), 'x', 'F', NOW() FROM seq_1_to_249
            """)
        for number in Int64(1_001)...1_249 {
            try fixture.seal(StoredCredentials(accessToken: "token-\(number)"), for: UserID(number))
        }
        let hash = [UInt8](repeating: 3, count: 32)
        let code = try fixture.sealer.seal(StoredCredentials(refreshToken: "of the code"), for: .code(hash))
        try fixture.run(
            """
            INSERT INTO exchanged_codes (code_hash, credentials, exchanged_at)
            VALUES (X'\(hash.hexLowercase)', X'\(code.hexLowercase)', NOW())
            """)
        // A removed user, with tokens that are used to clear the storage and then revoked.
        let left = try fixture.sealer.seal(
            StoredCredentials(refreshToken: "of who left"), for: .user(Self.removed)
        ).hexLowercase
        try fixture.run(
            """
            INSERT INTO departed_users (user_id, account_type, provider_user_id, credentials, forgotten_at)
            VALUES (\(Self.removed.rawValue), 'Google', 'g-39', X'\(left)', NOW());
            INSERT INTO outbox (kind, user_id, account_type, account_hash, credentials, available_at, created_at)
            VALUES ('revokeGrant', \(Self.removed.rawValue), 'Google', REPEAT(X'01', 32), X'\(left)', NOW(), NOW())
            """)
        // A user who has switched accounts, with the former account as the source of moved files.
        let moved = try fixture.sealer.seal(
            StoredCredentials(refreshToken: "of the former account"), for: Self.formerAccount
        ).hexLowercase
        try fixture.run(
            """
            INSERT INTO account_moves
                   (switch_uuid, user_id, account_epoch, account_type, provider_user_id, credentials, state,
                    available_at, begun_at)
            VALUES (UUID(), 1001, 3, 'Google', 'former', X'\(moved)', 'moving', NOW(), NOW())
            """)
    }

    private func opened(_ user: Int64) throws -> StoredCredentials {
        let sealed = try #require(try fixture.store.withSession { try $0.credentials(of: UserID(user)) })
        return try newSealer.open(sealed.record, from: .user(UserID(user)))
    }

    @Test("Afterwards the new key alone opens everything, and a second run does nothing")
    func all() throws {
        let report = try rotation.run()
        let again = try rotation.run()

        #expect(report.isGood)
        #expect(report.resealed == 254)
        #expect(again.resealed == 0)
        #expect(again.alreadyCurrent == 254)
        for number in Int64(1_001)...1_249 { #expect(try opened(number).accessToken == "token-\(number)") }
        #expect(try opened(1).refreshToken == "secret-refresh")
        let move = try #require(try fixture.store.withSession { try $0.sealedMoves(after: nil, limit: 9) }.first)
        #expect(try newSealer.open(move.bytes, from: Self.formerAccount).refreshToken == "of the former account")
        #expect(throws: CryptoError.self) { try newSealer.open(move.bytes, from: .user(UserID(1_001))) }
        let departures = try fixture.store.withSession { try $0.sealedDepartures(after: nil, limit: 9) }
        let grants = try fixture.store.withSession { try $0.sealedGrants(after: nil, limit: 9) }
        for record in departures + grants {
            #expect(try newSealer.open(record.bytes, from: .user(Self.removed)).refreshToken == "of who left")
        }
        #expect(departures.count == 1 && grants.count == 1)
        let code = try #require(try fixture.store.withSession { try $0.sealedCodes(after: nil, limit: 1) }.first)
        #expect(
            try newSealer.open(code.bytes, from: .code([UInt8](repeating: 3, count: 32))).refreshToken == "of the code")
    }

    @Test("Credential versions do not change, so an import still recognises users who have signed in since")
    func versions() throws {
        let before = try fixture.number("SELECT SUM(credentials_version) FROM users")

        _ = try rotation.run()

        #expect(try fixture.number("SELECT SUM(credentials_version) FROM users") == before)
    }

    @Test("After an interruption the rotation continues; meanwhile both keys together open everything")
    func interrupted() throws {
        var pages = 0
        #expect(throws: Interruption.self) {
            try rotation.run {
                pages += 1
                // Before the third page of users, and after the empty page of proposed switches.
                if pages == 4 { throw Interruption() }
            }
        }
        let both = CredentialSealer(keys: keys)
        for record in try fixture.store.withSession({ try $0.sealedCredentials(after: nil, limit: 1_000) }) {
            guard case .user(let user) = record.place else { continue }
            _ = try both.open(record.bytes, from: .user(user))
        }

        let report = try rotation.run()

        #expect(report.alreadyCurrent == 200)
        #expect(report.resealed == 54)
    }

    @Test("Tokens stored meanwhile are not overwritten")
    func concurrently() throws {
        var isFirst = true
        _ = try rotation.run {
            guard isFirst else { return }
            isFirst = false
            try fixture.seal(StoredCredentials(accessToken: "newer"), for: UserID(1_001))
        }

        #expect(try opened(1_001).accessToken == "newer")
    }

    @Test("A record is replaced only if it has not changed since it was opened")
    func compareAndSwap() throws {
        let record = try #require(
            try fixture.store.withSession { try $0.sealedCredentials(after: nil, limit: 1) }.first)
        try fixture.seal(StoredCredentials(accessToken: "newer"), for: AdministrationFixture.alice)

        #expect(try !fixture.store.transaction { try $0.reseal(record, as: [1, 2, 3]) })
        let sealed = try #require(try fixture.store.withSession { try $0.credentials(of: AdministrationFixture.alice) })
        #expect(try fixture.sealer.open(sealed.record, from: .user(AdministrationFixture.alice)).accessToken == "newer")
    }

    @Test("Records that no key opens are reported, and the former keys must be kept")
    func unreadable() throws {
        try fixture.run("UPDATE users SET credentials = CONCAT(credentials, 'x') WHERE user_id = 1100")

        let report = try rotation.run()

        #expect(report.unreadable == ["user 1100"])
        #expect(!report.isGood)
        #expect(report.text.contains("KEEP the former keys"))
        #expect(report.resealed == 253)
    }
}
