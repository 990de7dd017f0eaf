import Providers
import SyncProtocol

/// Everything that is computed of a content while its bytes arrive, perhaps in several requests.
struct ArrivingHashes: Sendable {
    private var hasher: ContentHasher
    private var identity: ContentIdentity?

    /// - Parameters:
    ///   - storageType: where the bytes go.
    ///   - identity: what they must turn out to be besides, if anything is known of them.
    init(for storageType: CloudStorageType, provenBy identity: ContentIdentity? = nil) {
        hasher = ContentHasher(for: storageType)
        self.identity = identity
    }

    /// Continues a computation.
    /// - Parameters:
    ///   - state: ``state`` of another one for the same storage, of the same content.
    ///   - lengthBytes: how many bytes it had taken in.
    /// - Returns: `nil` if it is not one.
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

    /// How many bytes have been taken in.
    var lengthBytes: Int64 { hasher.lengthBytes }

    /// What is needed to continue the computation elsewhere, besides ``lengthBytes``: at most 576 bytes.
    var state: [UInt8] { hasher.state + (identity?.state ?? []) }

    /// Takes in the next bytes.
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
