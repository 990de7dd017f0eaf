import OpenSSLCrypto
import Providers
import SyncProtocol

/// Proves, while bytes stream through, that they are those of an existing version: by its checksum, which may be in the
/// flavour of another storage, and by SHA-256, as far as either is known.
struct ContentIdentity: Sendable {
    private let checkSum: CheckSum?
    private let sha256: [[UInt8]]
    private var hasher: CheckSumHasher?
    private var digest: StorableDigest?

    /// - Parameters:
    ///   - checkSum: in the canonical form of a flavour, which its length determines; `nil` if unknown.
    ///   - sha256: the required SHA-256 values of the bytes, from all sources.
    init(checkSum: CheckSum?, sha256: [[UInt8]]) {
        let flavour = checkSum.flatMap(\.flavour)
        self.checkSum = flavour == nil ? nil : checkSum
        self.sha256 = sha256
        hasher = flavour.map { CheckSumHasher(flavour: $0) }
        digest = sha256.isEmpty ? nil : StorableDigest(.sha256)
    }

    /// The same proof, continued after the first bytes.
    /// - Parameters:
    ///   - state: ``state`` of a proof of the same contents.
    ///   - length: how many bytes that proof had processed.
    /// - Returns: `nil` if the state is invalid.
    func continued(from state: [UInt8], length: Int64) -> ContentIdentity? {
        var copy = self
        let size = hasher?.state.count ?? 0
        guard state.count >= size else { return nil }
        if let flavour = checkSum?.flavour {
            guard let hasher = CheckSumHasher(flavour: flavour, state: Array(state[..<size]), length: length) else {
                return nil
            }
            copy.hasher = hasher
        }
        guard digest != nil else { return state.count == size ? copy : nil }
        guard let digest = StorableDigest(.sha256, state: state[size...]) else { return nil }
        copy.digest = digest
        return copy
    }

    /// The state needed to continue the proof elsewhere, besides the number of bytes.
    var state: [UInt8] { (hasher?.state ?? []) + (digest?.state ?? []) }

    /// Adds the next bytes.
    mutating func update(_ bytes: Span<UInt8>) {
        hasher?.update(bytes)
        digest?.update(bytes)
    }

    /// Ends the computation.
    /// - Throws: ``EndpointError/contentMismatch`` if the bytes differ.
    func verify() throws(EndpointError) {
        if let hasher, hasher.finish() != checkSum { throw .contentMismatch }
        guard let hash = digest?.finish() else { return }
        guard sha256.allSatisfy({ $0 == hash }) else { throw .contentMismatch }
    }
}
