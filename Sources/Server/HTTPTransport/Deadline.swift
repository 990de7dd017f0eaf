/// The time by which a piece of work must be done; passed down through every call that may wait.
public struct Deadline: Sendable {
    private let instant: ContinuousClock.Instant

    /// A deadline `duration` from now.
    public static func after(_ duration: Duration) -> Deadline {
        Deadline(instant: .now.advanced(by: duration))
    }

    /// A deadline `duration` after an instant.
    public static func after(_ duration: Duration, from instant: ContinuousClock.Instant) -> Deadline {
        Deadline(instant: instant.advanced(by: duration))
    }

    /// The time left; never negative.
    public var remaining: Duration { max(.zero, instant - .now) }

    public var hasPassed: Bool { instant <= .now }

    /// The earlier of this deadline and `duration` from now.
    public func orAfter(_ duration: Duration) -> Deadline {
        Deadline(instant: min(instant, .now.advanced(by: duration)))
    }
}
