public import HTTPTransport
public import SyncProtocol

/// The bytes of an upload, handed to a provider part by part while they arrive.
///
/// A part stays in memory until the next one is requested, so that it can be sent again.
public protocol UploadContent: AnyObject {
    /// The exact number of bytes that all parts have together.
    var lengthBytes: Int64 { get }

    /// Sets memory aside for parts of `partBytes`, until the content is no longer needed.
    /// - Returns: whether there is enough. If not, ``rest()`` needs none; parts of that size are possible nevertheless,
    ///   at the expense of other uploads.
    func reserveMemory(partBytes: Int) -> Bool

    /// The next part: a multiple of `granularity` bytes unless it is the last one or has `limit` bytes. The one before it
    /// becomes invalid.
    ///
    /// The end of the last part arrives only after the whole content has arrived and its checksum is right; this
    /// prevents corrupt or truncated uploads from becoming objects. Empty content has one empty part, which is the last.
    /// - Throws: whatever made the content unusable, or that the rest will come later (``UploadResumption``); the provider
    ///   wraps it in ``CloudStorageError/contentFailed(_:)``.
    func nextPart(granularity: Int, atMost limit: Int) throws -> UploadPart

    /// The rest of the content as a last part of any size, which keeps little in memory, and can therefore be sent only
    /// once: for providers that take large content in one request.
    func rest() throws -> UploadPart

    /// The hash of the whole content in the provider's format, as far as it is known: before the last part has arrived
    /// only where it is the announced checksum.
    var providerHash: String { get }

    /// How far the upload got earlier, and where to record how far it gets, if it may go on later; `nil` if not.
    var resumption: (any UploadResumption)? { get }
}

extension UploadContent {
    public var resumption: (any UploadResumption)? { nil }

    /// The next part, as large as suits the content.
    public func nextPart(granularity: Int) throws -> UploadPart {
        try nextPart(granularity: granularity, atMost: .max)
    }

    /// Waits for `part` and everything after it without sending it, so that the content is known to be right.
    func verifyRest(from part: UploadPart, granularity: Int) throws(CloudStorageError) {
        var part = part
        while true {
            try part.arrive()
            guard !part.isLast else { return }
            part = try self.part(granularity: granularity)
        }
    }

    /// ``nextPart(granularity:atMost:)`` with the errors of storages.
    func part(granularity: Int, atMost limit: Int = .max) throws(CloudStorageError) -> UploadPart {
        do { return try nextPart(granularity: granularity, atMost: limit) } catch { throw .contentFailed(error) }
    }
}

/// Consecutive bytes of an upload, some of which may still be on their way.
public struct UploadPart {
    /// Position of the first byte in the whole content.
    public let offset: Int64
    public let isLast: Bool
    private let bytes: any PartBytes

    public init(_ bytes: any PartBytes, offset: Int64, isLast: Bool) {
        self.bytes = bytes
        self.offset = offset
        self.isLast = isLast
    }

    /// A part whose bytes are all there.
    public init(bytes: ArraySlice<UInt8>, offset: Int64, isLast: Bool) {
        self.init(ReadyBytes(bytes), offset: offset, isLast: isLast)
    }

    public var count: Int { bytes.count }

    /// Position after the last byte in the whole content.
    public var end: Int64 { offset + Int64(count) }

    /// Waits until all bytes have arrived; those of a last part then prove that the whole content is right.
    /// - Throws: ``CloudStorageError/contentFailed(_:)``.
    public func arrive() throws(CloudStorageError) {
        do { try bytes.arrive() } catch { throw .contentFailed(error) }
    }

    /// The bytes, once all of them have arrived; not for ``UploadContent/rest()``.
    /// - Throws: ``CloudStorageError/contentFailed(_:)``.
    public func whole() throws(CloudStorageError) -> ArraySlice<UInt8> {
        do { return try bytes.whole() } catch { throw .contentFailed(error) }
    }

    /// The bytes from a position in the whole content on, as the body of a request, which sends them as they arrive.
    public func body(from position: Int64? = nil) -> OutgoingBody {
        .arriving(bytes, from: Int((position ?? offset) - offset))
    }

    /// The same with other bytes around it.
    public func body(after prefix: [UInt8], before suffix: [UInt8]) -> OutgoingBody {
        .arriving(FramedBytes(bytes, after: prefix, before: suffix))
    }

    /// When a request that sends the part, or concerns it, must have ended: a provider has `patience` from the moment
    /// when all of it has arrived, however long the phone needs.
    public func deadline(within patience: Duration) -> Deadline {
        .after(patience, from: bytes.arrival ?? .now)
    }
}

/// The bytes of an ``UploadPart``.
public protocol PartBytes: ArrivingBytes {
    /// Waits until all bytes have arrived.
    func arrive() throws

    /// All bytes, once they have arrived.
    func whole() throws -> ArraySlice<UInt8>

    /// When the last byte arrived; `nil` as long as it has not.
    var arrival: ContinuousClock.Instant? { get }
}

/// Bytes that are all there.
private final class ReadyBytes: PartBytes {
    private let bytes: ArraySlice<UInt8>
    let arrival: ContinuousClock.Instant? = .now
    let failure: (any Error)? = nil

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var count: Int { bytes.count }

    func read(from position: Int, into buffer: inout MutableSpan<UInt8>) -> Int {
        buffer.copyPrefix(of: bytes.dropFirst(position))
    }

    func arrive() {}

    func whole() -> ArraySlice<UInt8> { bytes }
}

/// Bytes with other ones before and after them.
private final class FramedBytes: ArrivingBytes {
    private let prefix: [UInt8]
    private let inner: any ArrivingBytes
    private let suffix: [UInt8]

    init(_ inner: any ArrivingBytes, after prefix: [UInt8], before suffix: [UInt8]) {
        self.prefix = prefix
        self.inner = inner
        self.suffix = suffix
    }

    var count: Int { prefix.count + inner.count + suffix.count }
    var failure: (any Error)? { inner.failure }

    func read(from position: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        let position = position - prefix.count
        if position < 0 { return buffer.copyPrefix(of: prefix.suffix(-position)) }
        if position < inner.count { return try inner.read(from: position, into: &buffer) }
        return buffer.copyPrefix(of: suffix.dropFirst(position - inner.count))
    }
}

extension MutableSpan<UInt8> {
    /// Copies as much of `bytes` as there is room for into the beginning.
    /// - Returns: the number of bytes copied.
    public mutating func copyPrefix(of bytes: ArraySlice<UInt8>) -> Int {
        let count = Swift.min(count, bytes.count)
        // As memory: element by element, the bounds of each are checked.
        unsafe withUnsafeMutableBytes { target in
            unsafe bytes.withUnsafeBytes { source in
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source.prefix(count)))
            }
        }
        return count
    }
}

extension [UInt8] {
    /// Appends the bytes as memory, as ``Swift/MutableSpan/copyPrefix(of:)`` copies them.
    public mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}

/// Content that is in memory already, such as the warning file: a single part, however small parts are to be.
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

    public func reserveMemory(partBytes: Int) -> Bool { true }

    public func nextPart(granularity: Int, atMost limit: Int) -> UploadPart { rest() }

    public func rest() -> UploadPart { UploadPart(bytes: bytes[...], offset: 0, isLast: true) }
}
