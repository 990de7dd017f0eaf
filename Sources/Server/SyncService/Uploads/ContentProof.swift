import OpenSSLCrypto
import Providers
import SyncProtocol

/// The hashes computed over contents while their bytes arrive, possibly in several requests.
struct ArrivingHashes: Sendable {
    private var hasher: ContentHasher
    private var identity: ContentIdentity?

    /// - Parameters:
    ///   - storageType: the storage that receives the bytes.
    ///   - identity: what else the bytes must match, if anything is known of them.
    init(for storageType: CloudStorageType, provenBy identity: ContentIdentity? = nil) {
        hasher = ContentHasher(for: storageType)
        self.identity = identity
    }

    /// Continues a computation.
    /// - Parameters:
    ///   - state: ``state`` of another computation for the same storage and contents.
    ///   - lengthBytes: how many bytes that computation had processed.
    /// - Returns: `nil` if the state is invalid.
    init?(
        for storageType: CloudStorageType, provenBy identity: ContentIdentity?, state: [UInt8], lengthBytes: Int64
    ) {
        let size = ContentHasher(for: storageType).state.count
        guard state.count >= size,
            let hasher = ContentHasher(for: storageType, state: Array(state[..<size]), lengthBytes: lengthBytes)
        else { return nil }
        self.hasher = hasher
        let rest = Array(state[size...])
        if let identity {
            guard let continued = identity.continued(from: rest, length: lengthBytes) else { return nil }
            self.identity = continued
        } else if !rest.isEmpty {
            return nil
        }
    }

    /// The number of bytes processed.
    var lengthBytes: Int64 { hasher.lengthBytes }

    /// The state needed to continue the computation elsewhere, besides ``lengthBytes``: at most 576 bytes.
    var state: [UInt8] { hasher.state + (identity?.state ?? []) }

    /// Adds the next bytes.
    mutating func update(_ bytes: Span<UInt8>) {
        hasher.update(bytes)
        identity?.update(bytes)
    }

    /// The hashes of the whole content.
    /// - Parameter expected: the announced checksum.
    /// - Throws: ``ErrorCode/checksumMismatch``, ``ErrorCode/contentMismatch``.
    func finish(expecting expected: CheckSum) throws(Refusal) -> ContentHashes {
        let hashes = hasher.finish()
        guard hashes.checkSum == expected else { throw Refusal(.checksumMismatch) }
        try identity?.verify()
        return hashes
    }
}

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
    /// - Throws: ``ErrorCode/contentMismatch`` if the bytes differ.
    func verify() throws(Refusal) {
        if let hasher, hasher.finish() != checkSum { throw Refusal(.contentMismatch) }
        guard let hash = digest?.finish() else { return }
        guard sha256.allSatisfy({ $0 == hash }) else { throw Refusal(.contentMismatch) }
    }
}

/// Checks whether the bytes of a download, as they pass, match the announced checksum.
///
/// A provider that reports the announced checksum may also report SHA-256 of the same object. Either hash then proves
/// the bytes, and the server computes the one that is faster on this processor.
struct DownloadVerifier {
    enum Verdict: Equatable {
        case right
        /// - Parameter hashes: the hashes of the bytes that passed; `nil` if only their SHA-256 is known.
        case wrong(ContentHashes?)
    }

    private enum Computation {
        case checkSum(ContentHasher)
        case sha256(StorableDigest, expected: [UInt8])
    }

    private let announced: CheckSum
    private var computation: Computation

    /// - Parameters:
    ///   - object: as the provider describes it.
    ///   - storageType: where the object is.
    ///   - prefersSHA256: whether SHA-256 takes less time than the checksum.
    init(
        of object: StoredObject, in storageType: CloudStorageType, announced: CheckSum,
        prefersSHA256: Bool = DigestAlgorithm.isSHA256FasterThanMD5
    ) {
        self.announced = announced
        let reported = object.providerHash.flatMap { CheckSum($0)?.canonical(as: storageType.checkSumFlavour) }
        if prefersSHA256, storageType.checkSumFlavour == .md5, storageType.traits.reportsCheckSum,
            reported == announced, let expected = object.sha256
        {
            computation = .sha256(StorableDigest(.sha256), expected: expected)
        } else {
            computation = .checkSum(ContentHasher(for: storageType))
        }
    }

    /// Adds the next bytes.
    mutating func update(_ bytes: Span<UInt8>) {
        switch computation {
        case .checkSum(var hasher):
            hasher.update(bytes)
            computation = .checkSum(hasher)
        case .sha256(var digest, let expected):
            digest.update(bytes)
            computation = .sha256(digest, expected: expected)
        }
    }

    /// The verdict on the bytes added so far.
    func finish() -> Verdict {
        switch computation {
        case .checkSum(let hasher):
            let hashes = hasher.finish()
            return hashes.checkSum == announced ? .right : .wrong(hashes)
        case .sha256(let digest, let expected):
            return digest.finish() == expected ? .right : .wrong(nil)
        }
    }
}
