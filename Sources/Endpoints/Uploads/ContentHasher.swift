import OpenSSLCrypto
import SyncProtocol

/// Computes, while bytes stream through, every hash that a file version needs.
struct ContentHasher: ~Copyable {
    private let flavour: CheckSum.Flavour
    private var wire: IncrementalDigest
    private var dropbox: DropboxContentHash
    private var sha256: IncrementalDigest

    /// - Parameter storageType: where the bytes go; it decides about the checksum that clients compare.
    init(for storageType: CloudStorageType) {
        flavour = storageType.checkSumFlavour
        wire = IncrementalDigest(flavour == .sha1 ? .sha1 : .md5)
        dropbox = DropboxContentHash()
        sha256 = IncrementalDigest(.sha256)
    }

    mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

    mutating func update(_ bytes: Span<UInt8>) {
        switch flavour {
        case .md5, .sha1: wire.update(bytes)
        case .dropboxContentHash: dropbox.update(bytes)
        }
        sha256.update(bytes)
    }

    consuming func finish() -> ContentHashes {
        let digest = flavour == .dropboxContentHash ? dropbox.finish() : wire.finish()
        guard let checkSum = CheckSum(digest: digest, flavour: flavour) else {
            preconditionFailure("a digest has the length of its algorithm")
        }
        return ContentHashes(checkSum: checkSum, sha256: sha256.finish())
    }
}

/// The hashes of one file version.
struct ContentHashes: Equatable {
    /// In the flavour of the storage, in its canonical letter case.
    var checkSum: CheckSum
    var sha256: [UInt8]
}
