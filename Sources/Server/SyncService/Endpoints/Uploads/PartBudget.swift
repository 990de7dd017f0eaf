import Synchronization

/// Memory that all uploads of a process share for parts beyond the smallest size.
///
/// Every upload may hold one small part at any time; larger ones, which make fast uploads faster, come out of this budget.
public final class PartBudget: Sendable {
    /// What every upload may use without asking.
    static let smallestPartBytes = 256 * 1024
    /// The largest part; fast uploads hold two, one being sent and one being read.
    static let largestPartBytes = 4 << 20

    private let available: Mutex<Int>
    /// Told of every change of the bytes that parts hold; has nothing to do with what is available.
    let observer: @Sendable (Int) -> Void

    /// - Parameters:
    ///   - bytes: for all uploads together; 64 MiB is plenty for a small server.
    ///   - observer: told of every change of the bytes that all parts hold together, the smallest ones included: how many
    ///     have arrived, or, below zero, were let go. Called for every 16 KiB, by any thread.
    public init(bytes: Int = 64 << 20, observer: @escaping @Sendable (Int) -> Void = { _ in }) {
        available = Mutex(bytes)
        self.observer = observer
    }

    /// Takes `bytes` out of the budget if they are there.
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
