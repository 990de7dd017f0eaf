internal import Glibc

/// The system's wall clock.
public enum WallClock {
    /// Whole seconds since 1970-01-01 00:00:00 UTC.
    public static func secondsSince1970() -> Int64 { Int64(time(nil)) }
}
