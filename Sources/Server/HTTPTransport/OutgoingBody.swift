/// The body of a request.
public enum OutgoingBody: Sendable {
    /// Complete bytes; not copied, and kept by the sender until the call returns.
    case bytes(ArraySlice<UInt8>)
    /// Bytes from a position that arrive while the request is being sent.
    case arriving(any ArrivingBytes, from: Int = 0)

    /// The exact length.
    public var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .arriving(let bytes, let start): bytes.count - start
        }
    }

    /// The bytes, if they are complete.
    public var bytes: ArraySlice<UInt8>? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// Why the bytes will never arrive; `nil` if they may still arrive.
    public var failure: (any Error)? { if case .arriving(let bytes, _) = self { bytes.failure } else { nil } }
}

/// Bytes, some of which may still be arriving; used by one thread at a time.
public protocol ArrivingBytes: AnyObject, Sendable {
    /// The final number of bytes.
    var count: Int { get }

    /// Copies bytes from `position` into the beginning of `buffer`, and waits if none of them has arrived.
    ///
    /// A position may be read again.
    /// - Returns: the number of bytes copied, at least 1.
    /// - Throws: ``failure``, or an error if the position cannot be read again; the transfer then ends with
    ///   ``TransportError/cancelled``.
    func read(from position: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int

    /// Why the bytes will never arrive; `nil` unless that is known.
    var failure: (any Error)? { get }
}
