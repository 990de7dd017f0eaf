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
    /// - Throws: ``EndpointError/checkSumMismatch``, ``EndpointError/contentMismatch``.
    func finish(expecting expected: CheckSum) throws(EndpointError) -> ContentHashes {
        let hashes = hasher.finish()
        guard hashes.checkSum == expected else { throw .checkSumMismatch }
        try identity?.verify()
        return hashes
    }
}
