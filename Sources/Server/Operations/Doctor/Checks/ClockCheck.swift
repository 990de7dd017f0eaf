/// Compares this host's clock with other clocks.
public enum ClockCheck {
    static let databaseToleranceMilliseconds: Int64 = 2_000
    /// Dates in replies are whole seconds, and are delayed by the network. Providers accept minutes of difference in
    /// signed requests and tokens.
    static let toleranceSeconds: Int64 = 30

    public static func database(ownMilliseconds: Int64, databaseMilliseconds: Int64) -> Diagnosis {
        let difference = abs(ownMilliseconds - databaseMilliseconds)
        guard difference > databaseToleranceMilliseconds else {
            return .good("clock", "this host's clock and the database's agree")
        }
        return Diagnosis(
            .databaseClockDiffers,
            "this host's clock and the database's differ by \(Quantity.seconds(difference / 1_000))",
            fix: "let systemd-timesyncd or chrony run on both: timedatectl set-ntp true; timedatectl timesync-status")
    }

    /// - Parameter offsets: by how many seconds this host's clock was ahead of each provider's.
    public static func providers(offsets: [Int64]) -> Diagnosis {
        // One provider's clock may be wrong; this host's clock is wrong only if none agrees with it.
        guard let least = offsets.min(by: { abs($0) < abs($1) }) else {
            return Diagnosis(
                .clockUnread, "no provider has reported its time, so this host's clock cannot be compared",
                fix: "timedatectl timesync-status")
        }
        guard abs(least) > toleranceSeconds else { return .good("clock", "this host's clock is right") }
        return Diagnosis(
            .clockOff,
            "this host's clock is \(Quantity.seconds(abs(least))) \(least > 0 ? "ahead of" : "behind") the providers'",
            fix: "timedatectl set-ntp true; timedatectl timesync-status")
    }
}
