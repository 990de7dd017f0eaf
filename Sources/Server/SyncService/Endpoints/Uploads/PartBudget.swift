import Synchronization

/// Memory shared by all uploads of a process for parts larger than the minimum size.
///
/// Every upload may hold one small part at any time; larger ones, which need fewer requests, are taken from this budget.
public final class PartBudget: Sendable {
    /// The part size that every upload may use without reserving it.
    static let smallestPartBytes = 256 * 1024
    /// No upload takes more than this share of what is available, so that much is left for the next ones.
    private static let uploadsPerBudget = 4

    private let available: Mutex<Int>
    /// Buffers of uploads that have ended: the memory of a new one comes from the kernel page by page, cleared, which
    /// takes an upload longer than anything but its hash and its encryption.
    private let idle = Mutex<IdleBuffers>(IdleBuffers())
    /// Called for every change in the number of bytes that parts hold; unrelated to what is available.
    let observer: @Sendable (Int) -> Void

    /// - Parameters:
    ///   - bytes: for all uploads together; 32 MiB is plenty for a small server.
    ///   - observer: called for every change in the number of bytes that all parts hold together, including the
    ///     smallest: how many have arrived, or, if negative, were released. Called for every 16 KiB, by any thread.
    public init(bytes: Int = 32 << 20, observer: @escaping @Sendable (Int) -> Void = { _ in }) {
        available = Mutex(bytes)
        self.observer = observer
    }

    /// Takes as much as possible of `bytes`.
    /// - Returns: how much that is; 0 if there is nothing to take.
    func take(upTo bytes: Int) -> Int {
        available.withLock { available in
            let taken = max(0, min(bytes, available / Self.uploadsPerBudget))
            available -= taken
            return taken
        }
    }

    /// Takes `bytes` if as much is left for others.
    func take(exactly bytes: Int) -> Bool {
        available.withLock { available in
            guard bytes <= available / 2 else { return false }
            available -= bytes
            return true
        }
    }

    /// Takes `bytes`, whether they are available or not: there will be less for the next ones.
    func takeRegardless(_ bytes: Int) {
        available.withLock { $0 -= bytes }
    }

    /// A buffer that an upload has left, or an empty one; what it contains means nothing.
    func takeBuffer() -> [UInt8] { idle.withLock { $0.takeLast() } }

    /// Keeps the buffer of an upload that has ended, unless enough of them are kept.
    func keep(_ buffer: consuming [UInt8]) {
        idle.withLock { [buffer] idle in idle.keep(buffer) }
    }

    func putBack(_ bytes: Int) {
        available.withLock { $0 += bytes }
    }
}

/// Buffers that nobody uses, the last one in front: its memory is the most likely to be in the processor's cache.
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
