import OpenSSLCrypto
import Providers
import SyncProtocol

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
        if prefersSHA256, storageType.checkSumFlavour == .md5, storageType.reportsCheckSum, reported == announced,
            let expected = object.sha256
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
