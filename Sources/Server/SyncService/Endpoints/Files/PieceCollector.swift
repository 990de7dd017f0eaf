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

    // Keeps its storage: new memory for each piece would have to be cleared by the kernel.
    private var collected: [UInt8] = []
    private var lastPassed: ContinuousClock.Instant?

    /// Adds a piece.
    /// - Parameter passOn: takes what is to be passed on now, if anything: everything that has been added and not been
    ///   passed on yet.
    mutating func add(
        _ piece: Span<UInt8>, at now: ContinuousClock.Instant, passOn: (Span<UInt8>) throws -> Void
    ) rethrows {
        let isDue = lastPassed.map { $0.duration(to: now) > Self.longestPause } ?? true
        // Another piece of the same size would no longer fit.
        let isPassedOn = isDue || collected.count + 2 * piece.count > Self.largestBytes
        if isPassedOn { lastPassed = now }
        if isPassedOn, collected.isEmpty { return try passOn(piece) }
        if collected.isEmpty { collected.reserveCapacity(Self.largestBytes) }
        collected.append(copying: piece)
        if isPassedOn { try passOnRest(passOn) }
    }

    /// Passes on what has been added and not been passed on yet, if anything.
    mutating func passOnRest(_ passOn: (Span<UInt8>) throws -> Void) rethrows {
        guard !collected.isEmpty else { return }
        try passOn(collected.span)
        collected.removeAll(keepingCapacity: true)
    }
}
