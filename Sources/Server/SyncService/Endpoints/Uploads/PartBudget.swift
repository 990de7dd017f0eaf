import Synchronization

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
