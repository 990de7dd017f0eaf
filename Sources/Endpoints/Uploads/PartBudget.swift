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

    /// - Parameter bytes: for all uploads together; 64 MiB is plenty for a small server.
    public init(bytes: Int = 64 << 20) {
        available = Mutex(bytes)
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
