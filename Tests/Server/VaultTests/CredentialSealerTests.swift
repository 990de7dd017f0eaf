import OpenSSLCrypto
import Providers
import SyncProtocol
import Testing
import Vault

@Suite("Sealed credentials")
struct CredentialSealerTests {
    static let credentials = StoredCredentials(accessToken: "ya29.secret", refreshToken: "1//secret", codeHash: "abc")
    let key: SealingKey
    let sealer: CredentialSealer
    let alice = CredentialSealer.Place.user(UserID(1))

    init() throws {
        key = try SealingKey([UInt8](repeating: 7, count: 32))
        sealer = CredentialSealer(keys: KeyRing(current: key))
    }

    @Test("A sealed record opens again, and reveals nothing of its contents [F20]")
    func roundTrip() throws {
        let record = try sealer.seal(Self.credentials, for: alice)

        #expect(try sealer.open(record, from: alice) == Self.credentials)
        #expect(!String(decoding: record, as: UTF8.self).contains("secret"))
        #expect(try sealer.seal(Self.credentials, for: alice) != record)
    }

    @Test("A record opens only for the user or code that it is bound to")
    func places() throws {
        let record = try sealer.seal(Self.credentials, for: alice)
        let hash = [UInt8](repeating: 1, count: 32)
        let ofCode = try sealer.seal(Self.credentials, for: .code(hash))

        #expect(throws: (any Error).self) { try sealer.open(record, from: .user(UserID(2))) }
        #expect(throws: (any Error).self) { try sealer.open(record, from: .user(UserID(11))) }
        #expect(throws: (any Error).self) { try sealer.open(record, from: .code(hash)) }
        #expect(throws: (any Error).self) { try sealer.open(ofCode, from: .code(Array(repeating: 2, count: 32))) }
        #expect(throws: (any Error).self) { try sealer.open(ofCode, from: alice) }
        #expect(try sealer.open(ofCode, from: .code(hash)) == Self.credentials)
    }

    @Test("A record with any changed byte does not open")
    func tampering() throws {
        let record = try sealer.seal(Self.credentials, for: alice)

        for index in record.indices {
            var changed = record
            changed[index] ^= 1
            #expect(throws: (any Error).self) { try sealer.open(changed, from: alice) }
        }
        #expect(throws: (any Error).self) { try sealer.open(Array(record.dropLast()), from: alice) }
        #expect(throws: (any Error).self) { try sealer.open([], from: alice) }
    }

    @Test("A record sealed with an older key opens as long as that key is in the ring")
    func rotation() throws {
        let record = try sealer.seal(Self.credentials, for: alice)
        let newer = try SealingKey([UInt8](repeating: 8, count: 32))

        let both = CredentialSealer(keys: KeyRing(current: newer, older: [key]))
        #expect(try both.open(record, from: alice) == Self.credentials)
        #expect(throws: (any Error).self) {
            try CredentialSealer(keys: KeyRing(current: newer)).open(record, from: alice)
        }
    }

    @Test("Descriptions of credentials reveal nothing")
    func redacted() {
        #expect("\(Self.credentials)" == "<redacted>")
        #expect(String(reflecting: Self.credentials) == "<redacted>")
        var text = ""
        dump(Self.credentials, to: &text)
        #expect(!text.contains("secret"))
    }
}
