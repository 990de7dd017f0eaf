/// When this host last made a good backup, and when one was last found to be good elsewhere: the times of their snapshots,
/// in seconds since 1970.
public struct BackupReading: Sendable {
    public var made: Int64?
    public var copied: Int64?

    public init(made: Int64?, copied: Int64?) {
        self.made = made
        self.copied = copied
    }
}

extension Exposition {
    /// Adds what is known of backups; 0 is never.
    mutating func add(_ backups: BackupReading) {
        for (name, help, value) in [
            (
                "syncd_last_backup_timestamp_seconds", "When this host last made a good backup; 0 if never.",
                backups.made
            ),
            (
                "syncd_last_backup_copy_timestamp_seconds",
                "Of when the last backup is that was copied elsewhere and found to be good there; 0 if none was.",
                backups.copied
            ),
        ] { addGauge(name, help, [(labels: "", value: Double(value ?? 0))]) }
    }
}
