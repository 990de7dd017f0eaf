internal import Crypto
package import Foundation

/// The SHA-256 digest of a file's contents.
package struct ContentDigest: Sendable, Hashable, Comparable {
    /// 32 bytes.
    package let bytes: Data

    /// Creates a digest from its stored form; nil unless it is 32 bytes.
    package init?(_ bytes: Data) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    init(_ digest: SHA256.Digest) { bytes = Data(digest) }

    /// The digest of bytes in memory.
    package static func of(_ bytes: Data) -> ContentDigest { ContentDigest(SHA256.hash(data: bytes)) }

    package static func < (left: ContentDigest, right: ContentDigest) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
