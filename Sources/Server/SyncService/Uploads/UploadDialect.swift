import OpenSSLCrypto
import SyncProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The protocol in which a client sends an upload in pieces. The protocols differ in headers and statuses, not in
/// effect.
enum UploadDialect: Equatable {
    /// tus 1.0 (https://tus.io/protocols/resumable-upload), with the extensions creation, checksum, termination and
    /// expiration.
    case tus
    /// draft-ietf-httpbis-resumable-upload, of which clients use different versions; `nil` means the newest.
    case draft(interopVersion: Int?)

    static let tusVersion = "1.0.0"
    private static let tusMediaType = "application/offset+octet-stream"
    private static let draftMediaType = "application/partial-upload"
    /// From this version on, the draft requires ``draftMediaType``, and `Upload-Incomplete` is `Upload-Complete`.
    private static let versionWithMediaType = 6
    private static let versionWithComplete = 4

    init(_ head: RequestHead) {
        self =
            head.header(.tusResumable) != nil
            ? .tus : .draft(interopVersion: head.header(.uploadDraftInteropVersion).flatMap { Int($0) })
    }

    /// Checks the version of the protocol.
    /// - Throws: ``ErrorCode/protocolVersionUnsupported``.
    func check(_ head: RequestHead) throws(Refusal) {
        if self == .tus, head.header(.tusResumable) != Self.tusVersion { throw Refusal(.protocolVersionUnsupported) }
    }

    /// Checks the media type of a piece.
    /// - Throws: ``ErrorCode/mediaTypeUnsupported``.
    func checkMediaType(_ head: RequestHead) throws(Refusal) {
        let expected: String
        switch self {
        case .tus: expected = Self.tusMediaType
        case .draft(let version):
            guard let version, version >= Self.versionWithMediaType else { return }
            expected = Self.draftMediaType
        }
        let type = head.header(.contentType)?.prefix { $0 != ";" }.lowercased()
        guard type == expected else { throw Refusal(.mediaTypeUnsupported, "the Content-Type must be \(expected)") }
    }

    /// The headers that report the progress of an upload.
    func headers(storedBytes: Int64, of lengthBytes: Int64, isComplete: Bool) -> [(name: String, value: String)] {
        var headers = [
            (name: ResponseHeader.uploadOffset.rawValue, value: "\(storedBytes)"),
            (name: ResponseHeader.uploadLength.rawValue, value: "\(lengthBytes)"),
        ]
        switch self {
        case .tus: headers.append((name: ResponseHeader.tusResumable.rawValue, value: Self.tusVersion))
        case .draft(let version?) where version < Self.versionWithComplete:
            headers.append((name: ResponseHeader.uploadIncomplete.rawValue, value: isComplete ? "?0" : "?1"))
        case .draft: headers.append((name: ResponseHeader.uploadComplete.rawValue, value: isComplete ? "?1" : "?0"))
        }
        return headers
    }

    /// Whether the request marks the body as the last piece; `nil` if it does not say.
    func saysComplete(_ head: RequestHead) throws(Refusal) -> Bool? {
        if let text = head.header(.uploadComplete) { return try Self.boolean(text, .uploadComplete) }
        if let text = head.header(.uploadIncomplete) { return try !Self.boolean(text, .uploadIncomplete) }
        return nil
    }

    /// A boolean of structured headers (RFC 9651, section 3.3.6).
    private static func boolean(_ text: String, _ header: RequestHeader) throws(Refusal) -> Bool {
        switch text {
        case "?1": return true
        case "?0": return false
        default: throw .malformedHeader(header)
        }
    }
}

extension RequestHead {
    /// A header that holds a number of bytes.
    /// - Throws: ``ErrorCode/missingHeader``, ``ErrorCode/malformedHeader``.
    func byteCount(_ header: RequestHeader) throws(Refusal) -> Int64 {
        guard let text = self.header(header) else { throw .missingHeader(header) }
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let count = Int64(text)
        else { throw .malformedHeader(header) }
        return count
    }
}

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
    /// - Throws: ``ErrorCode/malformedHeader``.
    init?(_ head: RequestHead) throws(Refusal) {
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
    /// - Throws: ``ErrorCode/pieceChecksumMismatch``, ``ErrorCode/bodyTooLarge``,
    ///   ``ClientGone``.
    func check(_ body: RequestBody, lengthBytes: Int64) throws {
        guard lengthBytes <= Self.maximumBytes else {
            throw Refusal.bodyTooLarge(maximumBytes: Self.maximumBytes)
        }
        guard IncrementalDigest.digest(of: try body.readAhead(), algorithm) == digest else {
            throw Refusal(.pieceChecksumMismatch)
        }
    }
}
