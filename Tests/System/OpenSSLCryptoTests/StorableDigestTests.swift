import OpenSSLCrypto
import Testing

@Suite("Digests that can be stored")
struct StorableDigestTests {
    private static let input = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    @Test(
        "A computation continues from its stored state, wherever it was interrupted",
        arguments: DigestAlgorithm.allCases,
        [0, 1, 63, 64, 65, 500, 1_000])
    func interruptions(algorithm: DigestAlgorithm, place: Int) throws {
        var first = StorableDigest(algorithm)
        first.update(Array(Self.input[..<place]))

        var second = try #require(StorableDigest(algorithm, state: first.state))
        second.update(Array(Self.input[place...]))

        #expect(second.finish() == IncrementalDigest.digest(of: Self.input, algorithm))
        #expect(first.finish() == IncrementalDigest.digest(of: Array(Self.input[..<place]), algorithm))
    }

    @Test("An invalid state is rejected", arguments: DigestAlgorithm.allCases)
    func invalidStates(algorithm: DigestAlgorithm) {
        let state = StorableDigest(algorithm).state
        #expect(StorableDigest(algorithm, state: state.dropLast()) == nil)
        #expect(StorableDigest(algorithm, state: state + [0]) == nil)
        // A buffer length above its capacity, with which libcrypto would write beyond the buffer.
        #expect(StorableDigest(algorithm, state: [UInt8](repeating: 0xff, count: state.count)) == nil)
        #expect(StorableDigest(algorithm, state: []) == nil)
    }
}
