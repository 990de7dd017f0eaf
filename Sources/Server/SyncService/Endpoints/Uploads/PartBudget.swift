import Synchronization

/// Memory shared by all uploads of a process for parts larger than the minimum size.
///
/// Every upload may hold one small part at any time; larger ones, which speed up fast uploads, are taken from this
/// budget.
public final class PartBudget: Sendable {
    /// The part size that every upload may use without reserving it.
    static let smallestPartBytes = 256 * 1024
    /// The largest part; fast uploads hold two, one being sent and one being read.
    static let largestPartBytes = 4 << 20

    private let available: Mutex<Int>
    /// Called for every change in the number of bytes that parts hold; unrelated to what is available.
    let observer: @Sendable (Int) -> Void

    /// - Parameters:
    ///   - bytes: for all uploads together; 64 MiB is plenty for a small server.
    ///   - observer: called for every change in the number of bytes that all parts hold together, including the
    ///     smallest: how many have arrived, or, if negative, were released. Called for every 16 KiB, by any thread.
    public init(bytes: Int = 64 << 20, observer: @escaping @Sendable (Int) -> Void = { _ in }) {
        available = Mutex(bytes)
        self.observer = observer
    }

    /// Takes `bytes` from the budget if they are available.
    func take(_ bytes: Int) -> Bool {
        available.withLock { available in
            guard available >= bytes else { return false }
            available -= bytes
            return true
        }
    }

    func putBack(_ bytes: Int) {
        available.withLock { $0 += bytes }
    }
}
