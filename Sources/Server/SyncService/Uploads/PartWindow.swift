import Providers
import Synchronization

/// The bytes of one part between their arrival from the phone and their confirmation by the cloud.
///
/// Arrived bytes are kept in memory, so that they can be sent again; in a sliding window, only until the next ones
/// arrive. The sender reads them from the phone when it needs them.
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

/// Memory shared by all uploads of a process for parts larger than the minimum size.
///
/// Every upload may hold one small part at any time; larger parts, which need fewer requests, use this budget.
public final class PartBudget: Sendable {
    /// The part size that every upload may use without reserving it.
    static let smallestPartBytes = 256 * 1024
    /// No upload takes more than this share of the available memory, so that enough remains for the next ones.
    private static let uploadsPerBudget = 4

    private let available: Mutex<Int>
    /// Buffers of uploads that have ended. The kernel provides new memory page by page and cleared, which costs an
    /// upload more time than anything except hashing and encryption.
    private let idle = Mutex<IdleBuffers>(IdleBuffers())
    /// Called for every change in the number of bytes that parts hold; independent of the available memory.
    let observer: @Sendable (Int) -> Void

    /// - Parameters:
    ///   - bytes: for all uploads together; 32 MiB is plenty for a small server.
    ///   - observer: called for every change in the number of bytes that all parts hold together, including the
    ///     smallest: the number that arrived or, if negative, were released. Called for every 16 KiB, by any thread.
    public init(bytes: Int = 32 << 20, observer: @escaping @Sendable (Int) -> Void = { _ in }) {
        available = Mutex(bytes)
        self.observer = observer
    }

    /// Takes as much as possible of `bytes`.
    /// - Returns: the amount taken; 0 if nothing is available.
    func take(upTo bytes: Int) -> Int {
        available.withLock { available in
            let taken = max(0, min(bytes, available / Self.uploadsPerBudget))
            available -= taken
            return taken
        }
    }

    /// Takes `bytes` if at least as much remains for others.
    func take(exactly bytes: Int) -> Bool {
        available.withLock { available in
            guard bytes <= available / 2 else { return false }
            available -= bytes
            return true
        }
    }

    /// Takes `bytes` even if they are not available, which leaves less for the next uploads.
    func takeRegardless(_ bytes: Int) {
        available.withLock { $0 -= bytes }
    }

    /// A buffer left by an upload, or an empty one; its contents are arbitrary.
    func takeBuffer() -> [UInt8] { idle.withLock { $0.takeLast() } }

    /// Keeps the buffer of an upload that has ended, unless enough buffers are already kept.
    func keep(_ buffer: consuming [UInt8]) {
        idle.withLock { [buffer] idle in idle.keep(buffer) }
    }

    func putBack(_ bytes: Int) {
        available.withLock { $0 += bytes }
    }
}

/// Unused buffers, the most recent one first, since its memory is the most likely to be in the processor's cache.
private struct IdleBuffers {
    private static let limitBytes = 16 << 20

    private var buffers: [[UInt8]] = []
    private var bytes = 0

    mutating func takeLast() -> [UInt8] {
        guard let last = buffers.popLast() else { return [] }
        bytes -= last.count
        return last
    }

    mutating func keep(_ buffer: [UInt8]) {
        guard !buffer.isEmpty, bytes + buffer.count <= Self.limitBytes else { return }
        buffers.append(buffer)
        bytes += buffer.count
    }
}
