/// Checks that the jobs role does its work.
public enum JobsCheck {
    /// Work that has been due for longer indicates that no worker processes it; a worker polls twice a second.
    static let patienceSeconds: Int64 = 300

    public static func judge(_ outbox: OutboxOverview) -> Diagnosis {
        if outbox.due > 0, outbox.longestDueSeconds > patienceSeconds {
            return Diagnosis(
                .jobsStandStill,
                "\(Quantity.of(outbox.due, "job")) due, for up to \(Quantity.seconds(outbox.longestDueSeconds)): "
                    + "the jobs role is not running, or cannot keep up",
                fix: "systemctl status 'syncd-jobs@*'; journalctl -u 'syncd-jobs@*' -p warning")
        }
        if let reason = outbox.pushRefusal {
            return Diagnosis(
                .pushRefused, "\(Quantity.of(outbox.refusedPushes, "notification")) refused: \(reason)",
                fix: "compare apns.teamId, apns.keyId and apns.topic with Apple's developer account, or the project of "
                    + "fcm.serviceAccountFile with the app's, then systemctl reload syncd; pushes of the last hour "
                    + "are then sent"
            )
        }
        if outbox.failing > 0 {
            return .good(
                "jobs",
                "the jobs role keeps up; \(Quantity.of(outbox.failing, "job")) failed before and will be retried "
                    + "(syncctl jobs --failing)")
        }
        return .good("jobs", "the jobs role keeps up")
    }
}
