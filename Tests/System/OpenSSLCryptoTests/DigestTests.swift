import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Digests")
struct DigestTests {
    @Test(
        "Known answers [365]",
        arguments: [
            (DigestAlgorithm.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
            (.md5, "Hello World", "b10a8db164e0754105b7a99be72e3fe5"),
            (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),  // RFC 1321, appendix A.5
            (.sha1, "Hello World", "0a4d55a8d778e5022fab701977c5d840bbc486d0"),
            (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),  // RFC 3174, section 7.3
            (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),  // RFC 6234
        ])
    func knownAnswers(algorithm: DigestAlgorithm, input: String, digest: String) {
        let computed = IncrementalDigest.digest(of: Array(input.utf8), algorithm)
        #expect(computed.hexLowercase == digest)
        #expect(computed.hexUppercase == digest.uppercased())
        #expect(computed.count == algorithm.byteCount)
    }

    /// Computed with Python's hashlib; 64 bytes are a block of all three.
    @Test(
        "Known answers around a block size [365]",
        arguments: [
            (
                1, "0cc175b9c0f1b6a831c399e269772661", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
                "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
            ),
            (
                63, "b06521f39153d618550606be297466d5", "03f09f5b158a7a8cdad920bddc29b81c18a551f5",
                "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"
            ),
            (
                64, "014842d480b571495a4a0363793f7367", "0098ba824b5c16427bd7a1122a5a442a25ec644d",
                "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"
            ),
            (
                65, "c743a45e0d2e6a95cb859adae0248435", "11655326c708d70319be2610e8a57d9a5b959d3b",
                "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"
            ),
        ])
    func aroundABlock(count: Int, md5: String, sha1: String, sha256: String) {
        let input = [UInt8](repeating: 0x61, count: count)
        for (algorithm, digest) in [(DigestAlgorithm.md5, md5), (.sha1, sha1), (.sha256, sha256)] {
            #expect(IncrementalDigest.digest(of: input, algorithm).hexLowercase == digest)
        }
    }

    /// Computed with Python's hashlib and `rclone hashsum`.
    @Test(
        "Known answers for 1 GiB [365]",
        arguments: [
            (DigestAlgorithm.md5, "adb5a28fda6ec2a01075b9945887a083"),
            (.sha1, "ecebf8a78d57368378471ce3d7046702ed865e92"),
            (.sha256, "c4d3e5935f50de4f0ad36ae131a72fb84a53595f81f92678b42b91fc78992d84"),
        ])
    func gibibyte(algorithm: DigestAlgorithm, digest: String) {
        var computed = IncrementalDigest(algorithm)
        for _ in 0..<1024 { computed.update(Self.mebibyte) }
        #expect(computed.finish().hexLowercase == digest)
    }

    private static let mebibyte = [UInt8](repeating: 0x61, count: 1 << 20)

    @Test("The digest does not depend on how the input is split", arguments: DigestAlgorithm.allCases)
    func splits(algorithm: DigestAlgorithm) {
        for length in [0, 1, 55, 56, 63, 64, 65, 127, 128, 129, 10_000] {
            let input = pattern(length)
            let whole = IncrementalDigest.digest(of: input, algorithm)
            for _ in 0..<10 {
                var digest = IncrementalDigest(algorithm)
                for piece in RandomData.pieces(of: input) { digest.update(piece) }
                #expect(digest.finish() == whole)
            }
        }
    }

    @Test("A finished digest starts over with an empty input")
    func restart() {
        var digest = IncrementalDigest(.md5)
        digest.update(Array("something else".utf8))
        _ = digest.finishAndRestart()
        digest.update(Array("Hello World".utf8))
        #expect(digest.finishAndRestart().hexLowercase == "b10a8db164e0754105b7a99be72e3fe5")
    }

    @Test("Creating and releasing digests 1,000 times, finished or not, leaks nothing")
    func openFailClose() {
        for round in 0..<1000 {
            var digest = IncrementalDigest(.sha256)
            digest.update([1, 2, 3])
            if round % 2 == 0 { _ = digest.finish() }
        }
    }

    private func pattern(_ length: Int) -> [UInt8] { (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) } }
}
