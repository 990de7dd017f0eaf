import Posix
import Store
public import SyncProtocol

/// Checks that backups are still made and copied.
public enum BackupCheck {
    private static let starting = "systemctl start syncd-backup.service; journalctl -u syncd-backup -n 50"
    private static let copying = "systemctl start syncd-backup-copy.service; journalctl -u syncd-backup-copy -n 50"

    /// - Parameters:
    ///   - folder: the folder with the records.
    ///   - maximumAgeHours: the limit for the last good backup and for the last good copy.
    ///   - limit: the time limit for systemd's answer.
    public static func examine(
        records folder: String, maximumAgeHours: Int, now: WireDate, within limit: Duration
    ) -> [Diagnosis] {
        let timer = try? UnitsCheck.state(of: SetupPaths.backupTimer, within: limit)
        return judge(
            made: try? BackupRecord(.made, in: folder), copied: try? BackupRecord(.copied, in: folder),
            isScheduled: timer?.isEnabled ?? false, maximumAgeHours: maximumAgeHours, now: now)
    }

    static func judge(
        made: BackupRecord?, copied: BackupRecord?, isScheduled: Bool, maximumAgeHours: Int, now: WireDate
    ) -> [Diagnosis] {
        guard let made else {
            return [
                isScheduled
                    ? Diagnosis(.backupOld, "no backup has been made on this host yet", fix: starting)
                    : Diagnosis(
                        .backupMissing, "this host makes no backups",
                        fix: "systemctl enable --now \(SetupPaths.backupTimer), on one host of the database")
            ]
        }
        let limit = Int64(maximumAgeHours) * 3_600
        func age(_ record: BackupRecord) -> Int64 { now.secondsSince1970 - record.takenAt.secondsSince1970 }
        var diagnoses: [Diagnosis] = []
        if age(made) > limit {
            diagnoses.append(
                Diagnosis(
                    .backupOld,
                    "the last good backup is from \(made.takenAt.iso8601), \(Quantity.seconds(age(made))) ago",
                    fix: isScheduled ? starting : "systemctl enable --now \(SetupPaths.backupTimer); \(starting)"))
        }
        if let copied, age(copied) > limit {
            diagnoses.append(
                Diagnosis(
                    .backupCopyOld,
                    "the last backup with a known copy elsewhere is from \(copied.takenAt.iso8601), "
                        + "\(Quantity.seconds(age(copied))) ago", fix: copying))
        }
        if diagnoses.isEmpty {
            let place = copied == nil ? "it is only on this host" : "a copy is elsewhere"
            diagnoses.append(.good("backup", "the last good backup is from \(made.takenAt.iso8601); \(place)"))
        }
        return diagnoses
    }
}
