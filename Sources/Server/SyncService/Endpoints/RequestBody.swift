/// The body of one request, with its announced length.
final class RequestBody {
    /// Bodies up to this size are read to the end before an early reply is sent: nginx loses or delays replies to
    /// phones that are still uploading.
    static let drainLimitBytes: Int64 = 128 << 20

    private let connection: any ClientConnection
    private let announcedBytes: Int64?
    private(set) var receivedBytes: Int64 = 0
    private var hasEnded = false
    /// Bytes that were read before they were needed.
    private var ahead: ArraySlice<UInt8> = []
    /// Whether the rest is left to the web server, which discards it, so that no thread waits for a client that is too
    /// slow or over its limit.
    private(set) var isLeft = false

    init(of connection: any ClientConnection, announcedBytes: Int64?) {
        self.connection = connection
        self.announcedBytes = announcedBytes
    }

    /// Reads the next bytes into `buffer`, until it is full or the body ends; 0 at the end.
    func read(into buffer: inout [UInt8]) throws(ClientGone) -> Int {
        try read(into: &buffer, buffer.indices)
    }

    /// The same for a range of `buffer`.
    func read(into buffer: inout [UInt8], _ range: Range<Int>) throws(ClientGone) -> Int {
        if !ahead.isEmpty {
            let count = min(range.count, ahead.count)
            buffer.replaceSubrange(range.prefix(count), with: ahead.prefix(count))
            ahead = ahead.dropFirst(count)
            return count
        }
        var span = buffer.mutableSpan
        let count: Int
        do { count = try connection.readBody(into: &span, range) } catch {
            if error.reason == .tooSlow { isLeft = true }
            throw error
        }
        receivedBytes += Int64(count)
        if count == 0 && !range.isEmpty { hasEnded = true }
        return count
    }

    /// Reads a body that is short enough for memory; the caller has checked the announced length.
    /// - Throws: ``ClientGone``; ``EndpointError/bodyLengthMismatch`` if fewer bytes arrived than were announced.
    func readWhole() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(announcedBytes ?? 0))
        guard try read(into: &bytes) == bytes.count else { throw EndpointError.bodyLengthMismatch }
        return bytes
    }

    /// Reads the whole body like ``readWhole()``, and makes it available to later reads.
    func readAhead() throws -> [UInt8] {
        let bytes = try readWhole()
        ahead = bytes[...]
        return bytes
    }

    /// Leaves the rest unread, whatever the reply.
    func leave() { isLeft = true }

    /// Reads and discards the rest of an unwanted body, unless it is too large to wait for.
    func drain() throws(ClientGone) {
        guard !isLeft, let announcedBytes, announcedBytes <= Self.drainLimitBytes else { return }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while !hasEnded && receivedBytes < announcedBytes {
            _ = try read(into: &buffer)
        }
    }
}
