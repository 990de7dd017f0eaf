import Providers

/// Combines the pieces in which a provider's bytes arrive, 16 KiB each over TLS, into fewer and larger ones, because
/// each piece passed on wakes the web server.
///
/// No piece waits for long: slow bytes are passed on as they arrive.
struct PieceCollector {
    /// Pieces are combined up to this size; larger ones are passed on unchanged.
    static let largestBytes = 64 * 1024
    /// If nothing has been passed on for this long, the next piece is passed on at once.
    static let longestPause: Duration = .milliseconds(10)

    // Keeps its storage, since the kernel would have to clear new memory for each piece.
    private var collected: [UInt8] = []
    private var lastPassed: ContinuousClock.Instant?

    /// Adds a piece.
    /// - Parameter passOn: receives the bytes to pass on now, if any: all pieces added since the last call.
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

    /// Passes on the pieces that are left, if any.
    mutating func passOnRest(_ passOn: (Span<UInt8>) throws -> Void) rethrows {
        guard !collected.isEmpty else { return }
        try passOn(collected.span)
        collected.removeAll(keepingCapacity: true)
    }
}
