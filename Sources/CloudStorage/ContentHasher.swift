import OpenSSLCrypto
public import SyncProtocol

/// Computes, while bytes stream through, the checksum that clients compare.
public struct CheckSumHasher: ~Copyable {
    private let flavour: CheckSum.Flavour
    private var digest: IncrementalDigest
    private var dropbox: DropboxContentHash

    /// - Parameter storageType: where the bytes go or come from; it decides about the algorithm.
    public init(for storageType: CloudStorageType) {
        flavour = storageType.checkSumFlavour
        digest = IncrementalDigest(flavour == .sha1 ? .sha1 : .md5)
        dropbox = DropboxContentHash()
    }

    /// Takes in the next bytes.
    public mutating func update(_ bytes: Span<UInt8>) {
        switch flavour {
        case .md5, .sha1: digest.update(bytes)
        case .dropboxContentHash: dropbox.update(bytes)
        }
    }

    /// Ends the computation.
    public consuming func finish() -> CheckSum {
        let bytes = flavour == .dropboxContentHash ? dropbox.finish() : digest.finish()
        guard let checkSum = CheckSum(digest: bytes, flavour: flavour) else {
            preconditionFailure("a digest has the length of its algorithm")
        }
        return checkSum
    }
}

/// Computes, while bytes stream through, every hash that is kept with a file version.
public struct ContentHasher: ~Copyable {
    private var checkSum: CheckSumHasher
    private var sha256 = IncrementalDigest(.sha256)

    /// - Parameter storageType: where the bytes go.
    public init(for storageType: CloudStorageType) {
        checkSum = CheckSumHasher(for: storageType)
    }

    /// Takes in the next bytes.
    public mutating func update(_ bytes: [UInt8]) {
        checkSum.update(bytes.span)
        sha256.update(bytes.span)
    }

    /// Ends the computation.
    public consuming func finish() -> ContentHashes {
        ContentHashes(checkSum: checkSum.finish(), sha256: sha256.finish())
    }
}

/// The hashes of one file version.
public struct ContentHashes: Equatable, Sendable {
    /// In the flavour of the storage, in its canonical letter case.
    public var checkSum: CheckSum
    public var sha256: [UInt8]
}
