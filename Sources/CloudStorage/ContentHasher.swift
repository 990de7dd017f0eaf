import OpenSSLCrypto
public import SyncProtocol

/// Computes, while bytes stream through, every hash that a file version needs.
public struct ContentHasher: ~Copyable {
    private let flavour: CheckSum.Flavour
    private var wire: IncrementalDigest
    private var dropbox: DropboxContentHash
    private var sha256: IncrementalDigest

    /// - Parameter storageType: where the bytes go; it decides about the checksum that clients compare.
    public init(for storageType: CloudStorageType) {
        flavour = storageType.checkSumFlavour
        wire = IncrementalDigest(flavour == .sha1 ? .sha1 : .md5)
        dropbox = DropboxContentHash()
        sha256 = IncrementalDigest(.sha256)
    }

    /// Takes in the next bytes.
    public mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

    /// Takes in the next bytes.
    public mutating func update(_ bytes: Span<UInt8>) {
        switch flavour {
        case .md5, .sha1: wire.update(bytes)
        case .dropboxContentHash: dropbox.update(bytes)
        }
        sha256.update(bytes)
    }

    /// Ends the computation.
    public consuming func finish() -> ContentHashes {
        let digest = flavour == .dropboxContentHash ? dropbox.finish() : wire.finish()
        guard let checkSum = CheckSum(digest: digest, flavour: flavour) else {
            preconditionFailure("a digest has the length of its algorithm")
        }
        return ContentHashes(checkSum: checkSum, sha256: sha256.finish())
    }
}

/// The hashes of one file version.
public struct ContentHashes: Equatable, Sendable {
    /// In the flavour of the storage, in its canonical letter case.
    public var checkSum: CheckSum
    public var sha256: [UInt8]
}
