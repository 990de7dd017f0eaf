/// When this host last made a good backup, and when a copy elsewhere was last verified: the times of their snapshots,
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
    /// Adds the times of backups; 0 means never.
    mutating func add(_ backups: BackupReading) {
        for (name, help, value) in [
            (
                "syncd_last_backup_timestamp_seconds", "When this host last made a good backup; 0 if never.",
                backups.made
            ),
            (
                "syncd_last_backup_copy_timestamp_seconds",
                "Time of the last backup that was copied elsewhere and verified there; 0 if none.",
                backups.copied
            ),
        ] { addGauge(name, help, [(labels: "", value: Double(value ?? 0))]) }
    }
}
