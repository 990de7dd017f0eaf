/// Why a request's body could not be read to its end.
public enum RequestBodyError: Error, Equatable {
    /// The client disconnected, or a fault closed the connection.
    case cut
    /// The body exceeds the reader's memory limit.
    case tooLong
}

/// A request's body, read piece by piece, so that a file of any size needs only constant memory.
///
/// Belongs to the one thread that serves the request; faults within a body are applied here.
public final class RequestBody {
    /// Fills the buffer from its start and returns the number of bytes read, which is less than the buffer's size only
    /// at the end of the body.
    public typealias Source = (_ buffer: inout [UInt8]) throws(RequestBodyError) -> Int

    /// Bytes announced by `Content-Length`; `nil` if the length is unknown.
    public let declaredLength: Int?
    /// Bytes read so far.
    public private(set) var receivedBytes = 0
    /// Interrupt the request after this many bytes, or at the end of a shorter body.
    var cutAfterBytes: Int?
    /// Flip a bit of the byte at this offset.
    var corruptAtByte: Int?

    /// Whether the client has disconnected, so that nobody awaits the response.
    public var isClientGone: () -> Bool = { false }
    private let source: Source

    /// A body that `source` delivers.
    public init(declaredLength: Int?, source: @escaping Source) {
        self.declaredLength = declaredLength
        self.source = source
    }

    /// A body that is already in memory.
    public convenience init(_ bytes: [UInt8]) {
        var position = 0
        self.init(declaredLength: bytes.count) { buffer in
            let count = min(buffer.count, bytes.count - position)
            buffer.replaceSubrange(..<count, with: bytes[position..<position + count])
            position += count
            return count
        }
    }

    /// Fills `buffer` from the body.
    /// - Returns: the number of bytes filled from the start of the buffer; less than the buffer's size only at the end
    ///   of the body.
    /// - Throws: ``RequestBodyError/cut``; the bytes that had arrived are in the buffer, and `filled` is their number.
    func fill(_ buffer: inout [UInt8], filled: inout Int) throws(RequestBodyError) {
        filled = 0
        let count = try source(&buffer)
        if let corrupt = corruptAtByte, corrupt >= receivedBytes, corrupt < receivedBytes + count {
            buffer[corrupt - receivedBytes] ^= 1
        }
        receivedBytes += count
        filled = count
        if let limit = cutAfterBytes, count < buffer.count || receivedBytes >= limit {
            filled = max(0, count - max(0, receivedBytes - limit))
            throw .cut
        }
    }

    /// The whole body, which must not be longer than `limit` bytes.
    func readAll(limit: Int) throws(RequestBodyError) -> [UInt8] {
        if let declaredLength, declaredLength > limit { throw .tooLong }
        // For a body of known length, one byte more than that: a single read then reaches its end, and nothing is
        // copied.
        var buffer = [UInt8](repeating: 0, count: min(limit, declaredLength ?? 65_536) + 1)
        var bytes: [UInt8] = []
        var filled = 0
        while true {
            try fill(&buffer, filled: &filled)
            guard filled == buffer.count else { break }
            bytes += buffer
            if bytes.count > limit { throw .tooLong }
        }
        buffer.removeLast(buffer.count - filled)
        if bytes.isEmpty { return buffer }
        bytes += buffer
        if bytes.count > limit { throw .tooLong }
        return bytes
    }

    /// Reads and discards the rest, so that the client can finish sending before it receives its response.
    public func drain() throws(RequestBodyError) {
        if let declaredLength, receivedBytes >= declaredLength { return }
        var buffer = [UInt8](repeating: 0, count: 262_144)
        var filled = 0
        repeat { try fill(&buffer, filled: &filled) } while filled == buffer.count
    }
}
