internal import Glibc

/// Waiting in a plain thread.
public enum ThreadPause {
    /// Blocks the calling thread for `duration`, signals notwithstanding.
    public static func wait(_ duration: Duration) {
        let end = ContinuousClock.now + duration
        while true {
            let left = end - ContinuousClock.now
            guard left > .zero else { return }
            // usleep(3) takes less than a second at a time, and ends early when a signal arrives.
            let microseconds = left.components.attoseconds / 1_000_000_000_000
            _ = usleep(left.components.seconds > 0 ? 500_000 : UInt32(max(1, microseconds)))
        }
    }
}
