/// Finds the number of uploads, or of downloads, that run at the same time.
///
/// Where a transfer mostly waits for replies, twice as many of them move twice as much; where the line or a processor
/// is the limit, more of them only take longer. Therefore the number doubles as long as the rate rises enough, and then
/// adapts to the conditions: it grows by a quarter from time to time, which is undone if the rate does not rise, and
/// shrinks when the rate falls. The rate is that of files for small files, and that of bytes for large ones. If the
/// server is busy, or transfers fail, the number is halved.
///
/// A pure value: the caller supplies the time.
package struct TransferPace: Sendable, Equatable {
    /// The end of a transfer.
    package enum Outcome: Sendable, Equatable {
        /// It succeeded, and moved this number of bytes, of one file or of several small ones.
        case moved(bytes: Int64, files: Int = 1)
        /// It failed in a way that more transfers make likelier.
        case congested
        /// It failed for another reason.
        case failed
    }

    /// The number at the beginning.
    package static let initial = 4
    /// Files of at least this size in bytes are large.
    static let largeBytes: Int64 = 256 << 10
    /// The increase of the rate that justifies twice as many transfers.
    private static let payingDoubling = 1.25
    /// The share of the reference rate below which the rate has fallen.
    private static let fallenShare = 0.6
    /// The numbers of measurements between two attempts to grow; the number increases after each failed attempt.
    private static let rests = 2...32

    private enum Phase: Sendable, Equatable {
        /// Doubles; with the number before, and its rate.
        case doubling(from: Int, Rate?)
        /// Unchanged for this number of measurements.
        case resting(measurements: Int)
        /// Attempts a larger number; with the number before.
        case attempting(from: Int)
    }

    private struct Rate: Sendable, Equatable {
        var perSecond: Double
        var isOfLargeFiles: Bool
    }

    private struct Measurement: Sendable, Equatable {
        var began: Duration
        var transfers = 0
        /// Transfers of large files.
        var large = 0
        var files = 0
        var bytes: Int64 = 0
        /// Whether as many transfers as allowed were running all the time.
        var isFull = true
    }

    /// The greatest number.
    package let maximum: Int
    /// The number of transfers that may run now.
    package private(set) var allowed: Int
    private var phase: Phase
    /// The usual rate with the present number.
    private var reference: Rate?
    private var rest = Self.rests.lowerBound
    private var measurement: Measurement?
    /// Counts the changes of ``allowed``.
    private var generation = 0
    /// The transfers in progress, with the generation in which they began.
    private var running: [EngineToken: Int] = [:]
    /// Whether a transfer that began since the last change has ended; before that, its effect is unknown.
    private var isSettled = true

    /// - Parameter maximum: the greatest number, at least 1.
    package init(maximum: Int) {
        self.maximum = maximum
        allowed = min(Self.initial, maximum)
        phase = .doubling(from: allowed, nil)
    }

    /// Records that a transfer begins.
    package mutating func begin(_ token: EngineToken) { running[token] = generation }

    /// Records that a transfer has ended.
    /// - Parameter now: the time, since any moment in the past.
    package mutating func end(_ token: EngineToken, _ outcome: Outcome, at now: Duration) {
        let wasFull = running.count >= allowed
        let isCurrent = running.removeValue(forKey: token) == generation
        if isCurrent { isSettled = true }
        switch outcome {
        case .failed: break
        case .congested: if isCurrent { slowDown() }
        case .moved(let bytes, let files):
            guard var measured = measurement else {
                if isCurrent { measurement = Measurement(began: now) }
                return
            }
            measured.isFull = wasFull && measured.isFull
            measured.bytes += bytes
            measured.files += files
            measured.transfers += 1
            if bytes >= Self.largeBytes * Int64(max(1, files)) { measured.large += 1 }
            measurement = measured
            if measured.transfers >= allowed { conclude(measured, at: now) }
        }
    }

    /// Halves the number, once for all transfers in progress.
    package mutating func slowDown() {
        guard isSettled else { return }
        reference = nil
        rest(for: Self.rests.lowerBound)
        allow(max(1, allowed / 2))
        isSettled = false
    }

    /// Forgets transfers whose end will not be reported.
    package mutating func forgetRunning() {
        running = [:]
        (measurement, isSettled) = (nil, true)
    }

    private mutating func allow(_ number: Int) {
        measurement = nil
        guard number != allowed else { return }
        allowed = number
        generation += 1
    }

    /// Doubles again: the rates of small and of large files are not comparable, and fewer large ones fill a line.
    private mutating func beginAnew(with rate: Rate) {
        reference = nil
        allow(rate.isOfLargeFiles ? min(allowed, Self.initial) : allowed)
        phase = .doubling(from: allowed, nil)
    }

    private mutating func rest(for measurements: Int) {
        rest = min(measurements, Self.rests.upperBound)
        phase = .resting(measurements: rest)
    }

    private mutating func conclude(_ measured: Measurement, at now: Duration) {
        measurement = Measurement(began: now)
        let seconds = (now - measured.began) / .seconds(1)
        guard measured.isFull, seconds > 0 else { return }
        let isLarge = measured.large * 4 >= measured.transfers
        let amount = isLarge ? Double(measured.bytes) : Double(measured.files)
        follow(Rate(perSecond: amount / seconds, isOfLargeFiles: isLarge))
    }

    private mutating func follow(_ rate: Rate) {
        if let reference, reference.isOfLargeFiles != rate.isOfLargeFiles { return beginAnew(with: rate) }
        let comparable = reference?.perSecond
        switch phase {
        case .doubling(let before, let last):
            if let last, last.isOfLargeFiles != rate.isOfLargeFiles { return beginAnew(with: rate) }
            if let last, rate.perSecond < last.perSecond * Self.payingDoubling {
                reference = last
                rest(for: Self.rests.lowerBound)
                allow(before)
            } else if allowed < maximum {
                phase = .doubling(from: allowed, rate)
                allow(min(maximum, allowed * 2))
            } else {
                reference = rate
                rest(for: Self.rests.lowerBound)
            }
        case .attempting(let before):
            let paying = 1 + 0.5 * (Double(allowed) / Double(before) - 1)
            if let comparable, rate.perSecond < comparable * paying {
                rest(for: rest * 2)
                allow(before)
            } else {
                reference = rate
                rest(for: Self.rests.lowerBound)
            }
        case .resting(let measurements):
            if let comparable, rate.perSecond < comparable * Self.fallenShare {
                reference = rate
                rest(for: Self.rests.lowerBound)
                allow(max(min(2, allowed), allowed * 3 / 4))
                return
            }
            reference = rate
            reference?.perSecond = comparable.map { $0 * 0.75 + rate.perSecond * 0.25 } ?? rate.perSecond
            if measurements > 1 || allowed == maximum {
                phase = .resting(measurements: max(1, measurements - 1))
            } else {
                phase = .attempting(from: allowed)
                allow(min(maximum, allowed + max(1, allowed / 4)))
            }
        }
    }
}
