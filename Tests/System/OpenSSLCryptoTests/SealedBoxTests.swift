import OpenSSLCrypto
import Testing

@Suite("Sealing")
struct SealedBoxTests {
    private let place = Array("user 7, refresh token".utf8)

    private func makeKey() throws -> SealingKey { try SealingKey(RandomBytes.generate(count: 32)) }

    @Test("A sealed record can be opened, and has the stated length", arguments: [0, 1, 15, 16, 17, 1000, 100_000])
    func roundTrip(length: Int) throws {
        let key = try makeKey()
        let plaintext = [UInt8](repeating: 0x5A, count: length)

        let record = try SealedBox.seal(plaintext, key: key, additionalData: place)

        #expect(record.count == length + SealedBox.overheadBytes)
        #expect(SealedBox.keyIdentifier(of: record) == key.identifier)
        #expect(try SealedBox.open(record, keys: KeyRing(current: key), additionalData: place) == plaintext)
        #expect(try SealedBox.seal(plaintext, key: key, additionalData: place) != record)
    }

    @Test("A change to any bit is detected")
    func tampered() throws {
        let key = try makeKey()
        let record = try SealedBox.seal(Array("secret".utf8), key: key, additionalData: place)
        for index in record.indices {
            for bit in 0..<8 {
                var changed = record
                changed[index] ^= 1 << bit
                #expect(throws: CryptoError.self) {
                    try SealedBox.open(changed, keys: KeyRing(current: key), additionalData: place)
                }
            }
        }
    }

    @Test("A record moved to another place cannot be opened there")
    func moved() throws {
        let key = try makeKey()
        let record = try SealedBox.seal(Array("secret".utf8), key: key, additionalData: place)
        for other in [[], Array("user 8, refresh token".utf8)] {
            #expect(throws: CryptoError.authenticationFailed) {
                try SealedBox.open(record, keys: KeyRing(current: key), additionalData: other)
            }
        }
    }

    @Test("Truncated records are malformed or fail authentication")
    func cut() throws {
        let key = try makeKey()
        let record = try SealedBox.seal(Array("secret".utf8), key: key, additionalData: place)
        for count in 0..<record.count {
            let expected: CryptoError = count < SealedBox.overheadBytes ? .malformedRecord : .authenticationFailed
            #expect(throws: expected) {
                try SealedBox.open(Array(record.prefix(count)), keys: KeyRing(current: key), additionalData: place)
            }
        }
    }

    @Test("A record of another version is rejected, regardless of its contents", arguments: [0, 2, 255] as [UInt8])
    func otherVersion(version: UInt8) throws {
        let key = try makeKey()
        var record = try SealedBox.seal(Array("secret".utf8), key: key, additionalData: place)
        record[0] = version

        #expect(SealedBox.keyIdentifier(of: record) == nil)
        #expect(throws: CryptoError.malformedRecord) {
            try SealedBox.open(record, keys: KeyRing(current: key), additionalData: place)
        }
    }

    @Test("After a key change, old records can be opened as long as the old key is kept")
    func rotation() throws {
        let (old, new) = (try makeKey(), try makeKey())
        let record = try SealedBox.seal(Array("secret".utf8), key: old, additionalData: place)

        let both = KeyRing(current: new, older: [old])
        #expect(try SealedBox.open(record, keys: both, additionalData: place) == Array("secret".utf8))
        #expect(SealedBox.keyIdentifier(of: record) != both.current.identifier)
        #expect(throws: CryptoError.unknownKey(identifier: old.identifier)) {
            try SealedBox.open(record, keys: KeyRing(current: new), additionalData: place)
        }
    }

    @Test("A key is read from base64, rejected in any other size, and never printed")
    func keys() throws {
        let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        let key = try SealingKey(base64: " \(text)\n")
        #expect(key.identifier == (try SealingKey((0..<32).map { UInt8($0) })).identifier)
        for wrong in ["", "AAEC", "not base64", text + "AAEC"] {
            #expect(throws: CryptoError.invalidKey) { try SealingKey(base64: wrong) }
        }
        var dumped = ""
        dump(KeyRing(current: key), to: &dumped)
        #expect(!dumped.contains("bytes"))
        #expect("\(key) \(String(reflecting: key))" == "<redacted> <redacted>")
    }

    @Test("HMAC-SHA256: test cases 1, 2 and 6 of RFC 4231")
    func hmac() {
        #expect(
            hmacSHA256(key: [UInt8](repeating: 0x0B, count: 20), message: Array("Hi There".utf8)).hexLowercase
                == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        #expect(
            hmacSHA256(key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8)).hexLowercase
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            hmacSHA256(
                key: [UInt8](repeating: 0xAA, count: 131),
                message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
            ).hexLowercase == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        #expect(hmacSHA256(key: [], message: []).hexLowercase.hasPrefix("b613679a0814d9ec772f95d778c35fc5"))
    }

    @Test("Valid and invalid hexadecimal text")
    func hexadecimal() {
        #expect([UInt8](hexadecimal: "00ffA5") == [0, 255, 165])
        for wrong in ["0", "0g", " 00", "é0"] { #expect([UInt8](hexadecimal: wrong) == nil) }
    }

    @Test("Random bytes differ, and random UUIDs have version 4 and upper case")
    func randomness() throws {
        #expect(try RandomBytes.generate(count: 16) != RandomBytes.generate(count: 16))
        #expect(try RandomBytes.generate(count: 0) == [])
        var seen: Set<String> = []
        for _ in 0..<200 {
            let text = try RandomBytes.uuidText()
            #expect(
                try #/[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/#.wholeMatch(in: text) != nil)
            seen.insert(text)
        }
        #expect(seen.count == 200)
    }

    @Test("Sealing and failing to open 500 times leaks nothing")
    func openFailClose() throws {
        let key = try makeKey()
        for _ in 0..<500 {
            var record = try SealedBox.seal([1, 2, 3], key: key, additionalData: place)
            record[20] ^= 1
            #expect(throws: CryptoError.authenticationFailed) {
                try SealedBox.open(record, keys: KeyRing(current: key), additionalData: place)
            }
        }
    }
}
