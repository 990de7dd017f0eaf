import Foundation
import StorageHashes
import Testing

@Suite("quickXorHash")
struct QuickXorHashTests {
    private func hash(_ bytes: [UInt8]) -> String {
        var hash = QuickXorHash()
        hash.update(bytes)
        return Data(hash.digest()).base64EncodedString()
    }

    @Test(
        "Known answers",
        arguments: [
            ("", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="), ("Sg==", "SgAAAAAAAAAAAAAAAQAAAAAAAAA="),
            ("gQaybEqS/4UlDc8e4IJm", "gDCALNigBEn8oxAlZ8AzPAAOQZg="), ("YQ==", "YQAAAAAAAAAAAAAAAQAAAAAAAAA="),
            ("aGVsbG8=", "aCgDG9jwBgAAAAAABQAAAAAAAAA="),
            ("SGVsbG8sIHdvcmxkIQ==", "SCgDG9jwBhaA4A5vnQMbyBACAAA="),
        ])
    func knownAnswers(input: String, expected: String) throws {
        #expect(hash([UInt8](try #require(Data(base64Encoded: input)))) == expected)
    }

    @Test(
        "Known answers for repeated bytes",
        arguments: [
            (UInt8(0x61), 4_194_303, "eMQjHvGIZzCDGcxg+cynwQxmMIM="),
            (0x61, 4_194_304, "eMQjHvGIRzyDGcxgBjPYwQxmMIM="), (0x61, 4_194_305, "eMQjHvGIRzziGcxgBzPYwQxmMIM="),
            (0, 10_485_760, "AAAAAAAAAAAAAAAAAACgAAAAAAA="),
        ])
    func repeatedByte(byte: UInt8, count: Int, expected: String) {
        #expect(hash([UInt8](repeating: byte, count: count)) == expected)
    }

    /// Computed with `rclone hashsum quickxor`.
    @Test("A known answer for 1 GiB")
    func gibibyte() {
        let mebibyte = [UInt8](repeating: 0x61, count: 1 << 20)
        var hash = QuickXorHash()
        for _ in 0..<1024 { hash.update(mebibyte) }
        #expect(Data(hash.digest()).base64EncodedString() == "eMQjHvGIRzyDGcxgBjOYgQxmMIM=")
    }

    /// The definition, implemented literally: one bit at a time.
    private func definition(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        for (index, byte) in bytes.enumerated() {
            for bit in 0..<8 where byte >> UInt8(bit) & 1 == 1 {
                let place = (index * 11 + bit) % 160
                digest[place / 8] ^= 1 << UInt8(place % 8)
            }
        }
        for index in 0..<8 { digest[12 + index] ^= UInt8(truncatingIfNeeded: bytes.count >> (8 * index)) }
        return digest
    }

    @Test("Any length, in any pieces, matches the definition")
    func pieces() {
        for length in Array(0...330) + [1_599, 1_600, 1_601, 10_007] {
            let input = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 / 13) }
            let expected = definition(input)
            var whole = QuickXorHash()
            whole.update(input)
            #expect(whole.digest() == expected, "\(length) bytes")
            var pieces = QuickXorHash()
            var rest = input[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...min(rest.count, 200))
                pieces.update(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(pieces.digest() == expected, "\(length) bytes in pieces")
        }
    }

    @Test("A computation continues from its stored state", arguments: [0, 1, 159, 160, 161, 9_999, 10_007])
    func states(place: Int) throws {
        let input = (0..<10_007).map { UInt8(truncatingIfNeeded: $0 &* 167) }
        var first = QuickXorHash()
        first.update(input[..<place])

        var second = try #require(QuickXorHash(state: first.state, length: Int64(place)))
        second.update(input[place...])

        #expect(second.digest() == definition(input))
        #expect(QuickXorHash(state: [1, 2], length: 2) == nil)
    }

    @Test("A digest can be continued after it was read")
    func goesOn() {
        var hash = QuickXorHash()
        hash.update(Array("Hello".utf8))
        _ = hash.digest()
        hash.update(Array(", world!".utf8))
        #expect(Data(hash.digest()).base64EncodedString() == "SCgDG9jwBhaA4A5vnQMbyBACAAA=")
    }
}
