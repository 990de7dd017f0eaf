public import SyncProtocol

/// The bytes of an upload, handed to a provider part by part.
///
/// A part stays in memory until the provider has acknowledged it, so that it can be sent again.
public protocol UploadContent: AnyObject {
    /// The exact number of bytes that all parts have together.
    var lengthBytes: Int64 { get }

    /// The next part: a multiple of `granularity` bytes unless it is the last one.
    ///
    /// The last part is handed out only after the whole content has arrived and its checksum is right; this prevents
    /// corrupt or truncated uploads from becoming objects. Empty content has one empty part, which is the last.
    /// - Throws: whatever made the content unusable; the provider wraps it in ``CloudStorageError/contentFailed(_:)``.
    func nextPart(granularity: Int) throws -> UploadPart

    /// The hash of the whole content in the provider's format; valid after the last part was handed out.
    var providerHash: String { get }
}

/// Consecutive bytes of an upload.
public struct UploadPart: Sendable {
    public var bytes: ArraySlice<UInt8>
    /// Position of the first byte in the whole content.
    public var offset: Int64
    public var isLast: Bool

    public init(bytes: ArraySlice<UInt8>, offset: Int64, isLast: Bool) {
        self.bytes = bytes
        self.offset = offset
        self.isLast = isLast
    }
}

/// Content that is in memory already, such as the warning file.
public final class BytesContent: UploadContent {
    private let bytes: [UInt8]
    public let providerHash: String

    /// - Parameter storageType: where the bytes will go.
    public init(_ bytes: [UInt8], for storageType: CloudStorageType) {
        self.bytes = bytes
        var hasher = ContentHasher(for: storageType)
        hasher.update(bytes)
        providerHash = hasher.finish().providerHash
    }

    public var lengthBytes: Int64 { Int64(bytes.count) }

    public func nextPart(granularity: Int) -> UploadPart {
        UploadPart(bytes: bytes[...], offset: 0, isLast: true)
    }
}
