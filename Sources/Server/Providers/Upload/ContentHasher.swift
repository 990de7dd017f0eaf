import FoundationEssentials
import OpenSSLCrypto
import StorageHashes
public import SyncProtocol

/// Computes the checksum that clients compare, while bytes stream through.
public struct CheckSumHasher: Sendable {
    private enum Computation {
        case digest(StorableDigest, CheckSum.Flavour)
        case dropbox(DropboxContentHash)
    }

    private var computation: Computation

    /// - Parameter storageType: the source or destination of the bytes; determines the algorithm.
    public init(for storageType: CloudStorageType) { self.init(flavour: storageType.checkSumFlavour) }

    public init(flavour: CheckSum.Flavour) {
        computation =
            flavour == .dropboxContentHash
            ? .dropbox(DropboxContentHash()) : .digest(StorableDigest(flavour.algorithm), flavour)
    }

    /// Continues a computation.
    /// - Parameters:
    ///   - state: ``state`` of another hasher of the same flavour.
    ///   - length: the number of bytes that it had processed.
    /// - Returns: `nil` if `state` is invalid.
    public init?(flavour: CheckSum.Flavour, state: [UInt8], length: Int64) {
        if flavour == .dropboxContentHash {
            guard let hash = DropboxContentHash(state: state, length: length) else { return nil }
            computation = .dropbox(hash)
        } else {
            guard let digest = StorableDigest(flavour.algorithm, state: state) else { return nil }
            computation = .digest(digest, flavour)
        }
    }

    /// The state needed to continue the computation elsewhere, in addition to the number of bytes: at most 224 bytes.
    public var state: [UInt8] {
        switch computation {
        case .digest(let digest, _): digest.state
        case .dropbox(let hash): hash.state
        }
    }

    /// Processes the next bytes.
    public mutating func update(_ bytes: Span<UInt8>) {
        switch computation {
        case .digest(var digest, let flavour):
            digest.update(bytes)
            computation = .digest(digest, flavour)
        case .dropbox(var hash):
            hash.update(bytes)
            computation = .dropbox(hash)
        }
    }

    /// The checksum of all bytes so far; more may be added afterwards.
    public func finish() -> CheckSum {
        let checkSum =
            switch computation {
            case .digest(let digest, let flavour): CheckSum(digest: digest.finish(), flavour: flavour)
            case .dropbox(let hash): CheckSum(digest: hash.finish(), flavour: .dropboxContentHash)
            }
        guard let checkSum else { preconditionFailure("a digest has the length of its algorithm") }
        return checkSum
    }
}

extension CheckSum.Flavour {
    /// The algorithm of the digest that is the checksum or that the checksum is composed of.
    fileprivate var algorithm: DigestAlgorithm {
        switch self {
        case .md5: .md5
        case .sha1: .sha1
        case .dropboxContentHash: .sha256
        }
    }
}

/// Computes all hashes that are stored with a file version, while bytes stream through.
public struct ContentHasher: Sendable {
    private var checkSum: CheckSumHasher
    /// Only for OneDrive, whose own hash differs from the checksum that clients compare.
    private var quickXor: QuickXorHash?
    /// The number of bytes processed so far.
    public private(set) var lengthBytes: Int64 = 0

    /// - Parameter storageType: the destination of the bytes.
    public init(for storageType: CloudStorageType) {
        checkSum = CheckSumHasher(for: storageType)
        quickXor =
            switch storageType.traits.providerHash {
            case .checkSum: nil
            case .quickXor: QuickXorHash()
            }
    }

    /// Continues a computation.
    /// - Parameters:
    ///   - state: ``state`` of another hasher for the same storage.
    ///   - lengthBytes: the number of bytes that it had processed.
    /// - Returns: `nil` if `state` is invalid.
    public init?(for storageType: CloudStorageType, state: [UInt8], lengthBytes: Int64) {
        self.init(for: storageType)
        let size = checkSum.state.count
        guard state.count >= size,
            let checkSum = CheckSumHasher(
                flavour: storageType.checkSumFlavour, state: Array(state[..<size]), length: lengthBytes)
        else { return nil }
        self.checkSum = checkSum
        if quickXor != nil {
            guard let quickXor = QuickXorHash(state: Array(state[size...]), length: lengthBytes) else { return nil }
            self.quickXor = quickXor
        } else {
            guard state.count == size else { return nil }
        }
        self.lengthBytes = lengthBytes
    }

    /// The state needed to continue the computation elsewhere, in addition to ``lengthBytes``: at most 256 bytes.
    public var state: [UInt8] { checkSum.state + (quickXor?.state ?? []) }

    /// Processes the next bytes.
    public mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

    /// Processes the next bytes.
    public mutating func update(_ bytes: Span<UInt8>) {
        checkSum.update(bytes)
        quickXor?.update(bytes)
        lengthBytes += Int64(bytes.count)
    }

    /// The hashes of all bytes so far; more may be added afterwards.
    public func finish() -> ContentHashes {
        let providerHash = quickXor.map { Data($0.digest()).base64EncodedString() }
        let checkSum = checkSum.finish()
        return ContentHashes(checkSum: checkSum, providerHash: providerHash ?? checkSum.rawValue)
    }
}

/// The hashes of one file version.
public struct ContentHashes: Equatable, Sendable {
    /// In the storage's format, in its canonical letter case.
    public var checkSum: CheckSum
    /// The hash that the provider must report for these bytes, in its own spelling: the checksum, or OneDrive's
    /// quickXorHash.
    public var providerHash: String

    public init(checkSum: CheckSum, providerHash: String) {
        self.checkSum = checkSum
        self.providerHash = providerHash
    }
}
