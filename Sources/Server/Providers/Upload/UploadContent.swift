public import HTTPTransport
public import SyncProtocol

/// The bytes of an upload, handed to a provider part by part as they arrive.
///
/// A part is kept in memory until the next one is requested, so it can be sent again.
public protocol UploadContent: AnyObject {
    /// The exact total length of all parts, in bytes.
    var lengthBytes: Int64 { get }

    /// Reserves memory for parts of `partBytes` until the content is no longer needed.
    /// - Returns: whether there is enough. If not, use ``rest()``, which needs none; parts of that size remain possible
    ///   at the expense of other uploads.
    func reserveMemory(partBytes: Int) -> Bool

    /// The next part: a multiple of `granularity` bytes, unless it is the last one or has `limit` bytes. The previous
    /// part becomes invalid.
    ///
    /// The end of the last part arrives only after the whole content has arrived with the correct checksum, so that
    /// corrupt or truncated uploads never become objects. Empty content has one empty part, which is the last.
    /// - Throws: the error that made the content unusable, or an error that means that the rest will come later
    ///   (``UploadResumption``); the provider wraps it in ``CloudStorageError/contentFailed(_:)``.
    func nextPart(granularity: Int, atMost limit: Int) throws -> UploadPart

    /// The rest of the content as a last part of any size. It uses little memory and can therefore be sent only once:
    /// for providers that accept large content in one request.
    func rest() throws -> UploadPart

    /// The hash of the whole content in the provider's format, if known: before the last part has arrived, only if it
    /// is the announced checksum.
    var providerHash: String { get }

    /// The earlier progress of the upload, and the place to record further progress, if it may be continued later;
    /// otherwise `nil`.
    var resumption: (any UploadResumption)? { get }
}

extension UploadContent {
    public var resumption: (any UploadResumption)? { nil }

    /// The next part, in the best size for the content.
    public func nextPart(granularity: Int) throws -> UploadPart {
        try nextPart(granularity: granularity, atMost: .max)
    }

    /// Waits for `part` and everything after it without sending it, to verify the content.
    func verifyRest(from part: UploadPart, granularity: Int) throws(CloudStorageError) {
        var part = part
        while true {
            try part.arrive()
            guard !part.isLast else { return }
            part = try self.part(granularity: granularity)
        }
    }

    /// ``nextPart(granularity:atMost:)`` with storage errors.
    func part(granularity: Int, atMost limit: Int = .max) throws(CloudStorageError) -> UploadPart {
        do { return try nextPart(granularity: granularity, atMost: limit) } catch { throw .contentFailed(error) }
    }
}

/// Consecutive bytes of an upload, some of which may still have to arrive.
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

    /// A part whose bytes have all arrived.
    public init(bytes: ArraySlice<UInt8>, offset: Int64, isLast: Bool) {
        self.init(ReadyBytes(bytes), offset: offset, isLast: isLast)
    }

    public var count: Int { bytes.count }

    /// Position after the last byte in the whole content.
    public var end: Int64 { offset + Int64(count) }

    /// Waits until all bytes have arrived; the arrival of a last part proves that the whole content is correct.
    /// - Throws: ``CloudStorageError/contentFailed(_:)``.
    public func arrive() throws(CloudStorageError) {
        do { try bytes.arrive() } catch { throw .contentFailed(error) }
    }

    /// The bytes after all of them have arrived; not for ``UploadContent/rest()``.
    /// - Throws: ``CloudStorageError/contentFailed(_:)``.
    public func whole() throws(CloudStorageError) -> ArraySlice<UInt8> {
        do { return try bytes.whole() } catch { throw .contentFailed(error) }
    }

    /// The bytes from a position in the whole content onwards, as the body of a request that sends them as they arrive.
    public func body(from position: Int64? = nil) -> OutgoingBody {
        .arriving(bytes, from: Int((position ?? offset) - offset))
    }

    /// The bytes with a prefix and a suffix, as a request body.
    public func body(after prefix: [UInt8], before suffix: [UInt8]) -> OutgoingBody {
        .arriving(FramedBytes(bytes, after: prefix, before: suffix))
    }

    /// The deadline of a request that sends the part or concerns it: `patience` after all of it has arrived, however
    /// long the phone takes.
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

/// Bytes that have all arrived.
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

/// Bytes with a prefix and a suffix.
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
    /// Copies as many of `bytes` as fit to the beginning.
    /// - Returns: the number of bytes copied.
    public mutating func copyPrefix(of bytes: ArraySlice<UInt8>) -> Int {
        let count = Swift.min(count, bytes.count)
        // Copies memory, since copying element by element would check the bounds of each element.
        unsafe withUnsafeMutableBytes { target in
            unsafe bytes.withUnsafeBytes { source in
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source.prefix(count)))
            }
        }
        return count
    }
}

extension [UInt8] {
    /// Appends the bytes as one memory copy, like ``Swift/MutableSpan/copyPrefix(of:)``.
    public mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}

/// Content that is already in memory, such as the warning file: a single part, even if smaller parts are requested.
public final class BytesContent: UploadContent {
    private let bytes: [UInt8]
    public let providerHash: String

    /// - Parameter storageType: the destination of the bytes.
    public convenience init(_ bytes: [UInt8], for storageType: CloudStorageType) {
        var hasher = ContentHasher(for: storageType)
        hasher.update(bytes)
        self.init(bytes, hash: hasher.finish().providerHash)
    }

    /// - Parameter providerHash: the hash of the bytes in the format of their destination.
    public init(_ bytes: [UInt8], hash providerHash: String) {
        self.bytes = bytes
        self.providerHash = providerHash
    }

    public var lengthBytes: Int64 { Int64(bytes.count) }

    public func reserveMemory(partBytes: Int) -> Bool { true }

    public func nextPart(granularity: Int, atMost limit: Int) -> UploadPart { rest() }

    public func rest() -> UploadPart { UploadPart(bytes: bytes[...], offset: 0, isLast: true) }
}

/// An upload whose bytes come in several requests, perhaps to several processes, while the provider keeps the bytes
/// received so far.
///
/// A provider that can keep the bytes of an unfinished upload continues with ``session``, and after each part records
/// what the next request needs. If the content fails within a part, the bytes that have arrived are sent nevertheless
/// (``arrived(granularity:)``), so that the phone need not send them again.
public protocol UploadResumption: AnyObject {
    /// Content of at most this size may be sent in one request, since an interruption loses little.
    static var smallBytes: Int { get }

    /// The latest record; `nil` if the provider has nothing yet.
    var session: String? { get }

    /// The number of bytes that the provider has; the next part begins at this position.
    var position: Int64 { get }

    /// Whether ``position`` is certain. If not, the provider must be asked, because the previous request did not end
    /// properly.
    var isPositionCertain: Bool { get }

    /// Consumes the bytes before `position`, which the provider already has; the next part begins there.
    /// - Throws: like ``UploadContent/nextPart(granularity:)``.
    func skip(to position: Int64) throws

    /// Records that the provider keeps all bytes up to the end of the most recent part.
    /// - Parameter session: what the provider's adapter needs to continue; secret.
    /// - Throws: the error that prevents the upload from continuing.
    func record(session: String) throws

    /// The arrived bytes of the most recent part, in whole multiples of `granularity`; they replace that part.
    /// - Returns: `nil` if none have arrived, or if they are known to be wrong.
    func arrived(granularity: Int) -> UploadPart?

    /// Records that the provider has lost the bytes; the phone must send all of them again.
    func startOver()
}

extension UploadResumption {
    public static var smallBytes: Int { 512 * 1024 }

    /// Records what the provider keeps.
    /// - Throws: ``CloudStorageError/contentFailed(_:)``.
    func keep(_ session: String) throws(CloudStorageError) {
        do { try record(session: session) } catch { throw .contentFailed(error) }
    }
}

extension UploadContent {
    /// Records that the provider has lost the bytes.
    /// - Returns: the error to report.
    func lost(_ detail: String) -> CloudStorageError {
        resumption?.startOver()
        return .unavailable(detail: detail)
    }
}
