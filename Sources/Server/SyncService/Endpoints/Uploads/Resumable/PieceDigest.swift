import OpenSSLCrypto
import SyncProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The digest that a client announces for a piece (tus, extension checksum).
///
/// A piece with a wrong digest must leave nothing behind, but bytes cannot be withdrawn from a provider. So a piece
/// with a digest is collected before it is forwarded, and must fit into memory.
struct PieceDigest {
    /// The largest piece with a digest.
    static let maximumBytes: Int64 = 8 << 20
    static let algorithmNames = ["md5", "sha1", "sha256"]

    private let algorithm: DigestAlgorithm
    private let digest: [UInt8]

    /// - Returns: `nil` if none is announced.
    /// - Throws: ``EndpointError/malformedHeader(_:)``.
    init?(_ head: RequestHead) throws(EndpointError) {
        guard let text = head.header(.uploadChecksum) else { return nil }
        let words = text.split(separator: " ")
        guard words.count == 2, let algorithm = Self.algorithm(String(words[0])),
            let digest = Data(base64Encoded: String(words[1])), digest.count == algorithm.byteCount
        else { throw .malformedHeader(.uploadChecksum) }
        self.algorithm = algorithm
        self.digest = [UInt8](digest)
    }

    private static func algorithm(_ name: String) -> DigestAlgorithm? {
        switch name {
        case "md5": .md5
        case "sha1": .sha1
        case "sha256": .sha256
        default: nil
        }
    }

    /// Collects the body and compares it.
    /// - Throws: ``EndpointError/pieceCheckSumMismatch``, ``EndpointError/bodyTooLarge(maximumBytes:)``,
    ///   ``ClientGone``.
    func check(_ body: RequestBody, lengthBytes: Int64) throws {
        guard lengthBytes <= Self.maximumBytes else {
            throw EndpointError.bodyTooLarge(maximumBytes: Self.maximumBytes)
        }
        guard IncrementalDigest.digest(of: try body.readAhead(), algorithm) == digest else {
            throw EndpointError.pieceCheckSumMismatch
        }
    }
}
