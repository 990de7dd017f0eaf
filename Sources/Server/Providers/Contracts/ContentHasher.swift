import FoundationEssentials
import OpenSSLCrypto
public import SyncProtocol

/// Computes, while bytes stream through, the checksum that clients compare.
public struct CheckSumHasher: ~Copyable {
    private let flavour: CheckSum.Flavour
    private var digest: IncrementalDigest
    private var dropbox: DropboxContentHash

    /// - Parameter storageType: where the bytes go or come from; determines the algorithm.
    public init(for storageType: CloudStorageType) { self.init(flavour: storageType.checkSumFlavour) }

    public init(flavour: CheckSum.Flavour) {
        self.flavour = flavour
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
    /// Only for OneDrive, whose own hash differs from the checksum that clients compare.
    private var quickXor: QuickXorHash?

    /// - Parameter storageType: where the bytes go.
    public init(for storageType: CloudStorageType) {
        checkSum = CheckSumHasher(for: storageType)
        quickXor = storageType == .microsoft ? QuickXorHash() : nil
    }

    /// Takes in the next bytes.
    public mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

    /// Takes in the next bytes.
    public mutating func update(_ bytes: Span<UInt8>) {
        checkSum.update(bytes)
        quickXor?.update(bytes)
    }

    /// Ends the computation.
    public consuming func finish() -> ContentHashes {
        let providerHash = quickXor.map { Data($0.digest()).base64EncodedString() }
        let checkSum = checkSum.finish()
        return ContentHashes(checkSum: checkSum, providerHash: providerHash ?? checkSum.rawValue)
    }
}

/// The hashes of one file version.
public struct ContentHashes: Equatable, Sendable {
    /// In the storage's format, in its canonical letter case.
    public var checkSum: CheckSum
    /// What the provider must report for these bytes, in its own spelling: the checksum, or OneDrive's quickXorHash.
    public var providerHash: String
}
