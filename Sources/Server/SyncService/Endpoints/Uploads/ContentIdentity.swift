import OpenSSLCrypto
import Providers
import SyncProtocol

/// Proves, while bytes stream through, that they are those of a version that was uploaded before: by its checksum, which may
/// be in the flavour of another storage, and by SHA-256, as far as either is known.
final class ContentIdentity {
    private let checkSum: CheckSum?
    private let sha256: [[UInt8]]
    private var hasher: CheckSumHasher?
    private var digest: IncrementalDigest?

    /// - Parameters:
    ///   - checkSum: in the canonical form of a flavour, which its length tells; `nil` if it is not known.
    ///   - sha256: what SHA-256 of the bytes must be, according to everybody who says so.
    init(checkSum: CheckSum?, sha256: [[UInt8]]) {
        let flavour = checkSum.flatMap(\.flavour)
        self.checkSum = flavour == nil ? nil : checkSum
        self.sha256 = sha256
        hasher = flavour.map { CheckSumHasher(flavour: $0) }
        digest = sha256.isEmpty ? nil : IncrementalDigest(.sha256)
    }

    /// Takes in the next bytes.
    func update(_ bytes: Span<UInt8>) {
        hasher?.update(bytes)
        digest?.update(bytes)
    }

    /// Ends the computation.
    /// - Throws: ``EndpointError/contentMismatch`` if these were other bytes.
    func verify() throws(EndpointError) {
        if let hasher = hasher.take(), hasher.finish() != checkSum { throw .contentMismatch }
        guard let digest = digest.take() else { return }
        let hash = digest.finish()
        guard sha256.allSatisfy({ $0 == hash }) else { throw .contentMismatch }
    }
}
