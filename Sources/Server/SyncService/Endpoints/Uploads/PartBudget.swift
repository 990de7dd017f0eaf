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

    func putBack(_ bytes: Int) {
        available.withLock { $0 += bytes }
    }
}
