import Providers

/// The bytes of one part between their arrival from the phone and their confirmation by the cloud.
///
/// Arrived bytes stay in memory, so that they can be sent again; in a sliding window, only until the next ones arrive.
/// The sender reads them from the phone when it needs them.
///
/// `@unchecked Sendable`: only the request's thread uses it, including from within the call that sends it.
final class PartWindow: PartBytes, @unchecked Sendable {
    /// Fills a range of the buffer with the next bytes of the body; throws if the contents turn out to be unusable.
    typealias Receiver = (_ buffer: inout [UInt8], _ range: Range<Int>) throws -> Void

    /// The number of bytes read at a time.
    private static let chunkBytes = 64 * 1024

    let count: Int
    private let isSliding: Bool
    private let receive: Receiver
    private var buffer: [UInt8]
    /// Position in the part of the buffer's first byte.
    private var start = 0
    private(set) var arrivedBytes: Int
    private(set) var arrival: ContinuousClock.Instant?
    private(set) var failure: (any Error)?

    /// - Parameters:
    ///   - count: size of the part.
    ///   - buffer: the memory to use; contains the first `arrivedBytes` bytes of the part.
    init(count: Int, buffer: consuming [UInt8], arrivedBytes: Int, isSliding: Bool = false, receive: @escaping Receiver)
    {
        self.count = count
        self.buffer = buffer
        self.arrivedBytes = arrivedBytes
        self.isSliding = isSliding
        self.receive = receive
        if !isSliding, self.buffer.capacity < count {
            // The contents left by earlier parts need not be copied.
            if arrivedBytes == 0 { self.buffer = [] }
            self.buffer.reserveCapacity(count)
        }
        arrival = arrivedBytes == count ? .now : nil
    }

    func read(from position: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        while position >= arrivedBytes { try receiveChunk() }
        guard position >= start else { throw NotRepeatable() }
        return buffer.copyPrefix(of: self.buffer[(position - start)..<(arrivedBytes - start)])
    }

    func arrive() throws {
        while arrivedBytes < count { try receiveChunk() }
        if let failure { throw failure }
    }

    func whole() throws -> ArraySlice<UInt8> {
        try arrive()
        precondition(start == 0, "a sliding window does not keep the whole")
        return buffer[..<count]
    }

    /// The first bytes, which have arrived and are still in memory.
    func arrived(_ count: Int) -> ArraySlice<UInt8> {
        precondition(start == 0 && count <= arrivedBytes, "a sliding window does not keep the whole")
        return buffer[..<count]
    }

    /// The buffer for the next part.
    func takeBuffer() -> [UInt8] {
        defer { buffer = [] }
        return buffer
    }

    private func receiveChunk() throws {
        if let failure { throw failure }
        if isSliding { start = arrivedBytes }
        let from = arrivedBytes - start
        let range = from..<(from + min(Self.chunkBytes, count - arrivedBytes))
        do {
            // Memory is touched only as bytes arrive, so that a slow phone uses little.
            if buffer.count < range.upperBound {
                buffer.append(contentsOf: repeatElement(0, count: range.upperBound - buffer.count))
            }
            try receive(&buffer, range)
        } catch {
            failure = error
            throw error
        }
        arrivedBytes += range.count
        if arrivedBytes == count { arrival = .now }
    }
}

/// A request for bytes that a sliding window no longer has.
private struct NotRepeatable: Error {}
