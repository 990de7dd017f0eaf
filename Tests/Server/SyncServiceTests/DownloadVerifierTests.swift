import OpenSSLCrypto
import Providers
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Verification of a download's bytes")
struct DownloadVerifierTests {
    private static let bytes = someBytes(200_000)
    private static let others = bytes.dropLast() + [~bytes.last!]

    private let announced = CheckSum(md5(bytes))!

    private func object(
        providerHash: String? = md5(bytes), sha256: [UInt8]? = IncrementalDigest.digest(of: bytes, .sha256)
    ) -> StoredObject {
        StoredObject(
            objectID: "1", name: "n", sizeBytes: Int64(Self.bytes.count), providerHash: providerHash, revision: nil,
            sha256: sha256)
    }

    private func verdict(
        _ bytes: [UInt8], of object: StoredObject, prefersSHA256: Bool = true
    ) -> DownloadVerifier.Verdict {
        var verifier = DownloadVerifier(
            of: object, in: .google, announced: announced, prefersSHA256: prefersSHA256)
        for start in stride(from: 0, to: bytes.count, by: 16_384) {
            verifier.update(bytes.span.extracting(start..<min(start + 16_384, bytes.count)))
        }
        return verifier.finish()
    }

    @Test("Only the bytes of the object are accepted, with SHA-256 and without", arguments: [true, false])
    func proven(prefersSHA256: Bool) {
        for object in [object(), object(sha256: nil)] {
            #expect(verdict(Self.bytes, of: object, prefersSHA256: prefersSHA256) == .right)
            for wrong in [Array(Self.others), Array(Self.bytes.dropLast()), []] {
                #expect(verdict(wrong, of: object, prefersSHA256: prefersSHA256) != .right)
            }
        }
    }

    @Test("SHA-256 is computed only where it takes less time than the checksum")
    func chosen() {
        let misleading = object(sha256: IncrementalDigest.digest(of: Array(Self.others), .sha256))

        #expect(verdict(Self.bytes, of: misleading) == .wrong(nil))
        #expect(verdict(Self.bytes, of: misleading, prefersSHA256: false) == .right)
    }

    @Test(
        "A SHA-256 stored with a different checksum proves nothing", arguments: [nil, md5(Array(others))])
    func unrelated(providerHash: String?) {
        let misleading = object(
            providerHash: providerHash, sha256: IncrementalDigest.digest(of: Array(Self.others), .sha256))

        #expect(verdict(Self.bytes, of: misleading) == .right)
        #expect(verdict(Array(Self.others), of: misleading) != .right)
    }
}
