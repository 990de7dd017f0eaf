import Providers

/// Puts together the pieces in which a provider's bytes arrive, over TLS 16 KiB each, so that fewer and larger ones are
/// passed on: for each of them the web server is woken.
///
/// Nothing waits for long: what arrives slowly is passed on as it arrives.
struct PieceCollector {
    /// Pieces are put together up to this size; larger ones are passed on as they are.
    static let largestBytes = 64 * 1024
    /// If nothing was passed on for so long, the next piece is not kept.
    static let longestPause: Duration = .milliseconds(10)

    private var collected: [UInt8] = []
    private var lastPassed: ContinuousClock.Instant?

    /// Adds a piece.
    /// - Returns: what is to be passed on now, if anything: everything that has been added and not been returned yet.
    mutating func add(_ piece: Span<UInt8>, at now: ContinuousClock.Instant) -> [UInt8]? {
        if collected.isEmpty { collected.reserveCapacity(Self.largestBytes) }
        collected.append(copying: piece)
        let isDue = lastPassed.map { $0.duration(to: now) > Self.longestPause } ?? true
        // Another piece of the same size would no longer fit.
        guard isDue || collected.count + piece.count > Self.largestBytes else { return nil }
        lastPassed = now
        return takeRest()
    }

    /// What has been added and not been returned yet.
    mutating func takeRest() -> [UInt8] {
        defer { collected = [] }
        return collected
    }
}
