/// Everything that `syncctl doctor` can find, by its stable name. docs/operations.md lists them in the same order, and a
/// test compares both.
public enum DiagnosisCode: String, CaseIterable, Encodable, Sendable {
    // The configuration.
    case configurationInvalid, configurationWarning, sandboxInUse, configurationNotLoaded
    // Units of systemd.
    case unitFailed, unitStopped, unitDisabled, unitMissing, unitsUnread
    // The database, and what is in it.
    case databaseUnavailable, databaseDenied, schemaDiffers, roleAccountUnusable, rightsMissing, rightsSurplus
    case rightsShared, sealingKeyUnknown, tokensDamaged, jobsStandStill
    // Backups.
    case backupMissing, backupOld, backupCopyOld
    // Time.
    case databaseClockDiffers, clockOff, clockUnread
    // Responders.
    case responderSilent, responderUnhealthy
    // nginx, as it is configured.
    case nginxInvalid, nginxUnread, siteMissing, uploadLimitTooSmall, connectionsFew
    case certificateUnreadable, certificateExpired, certificateExpiring, certificateForOtherName, keyMismatch
    // nginx, as it runs.
    case frontDoorClosed, expiredCertificateServed, certificateNotLoaded, certificateUntrusted, otherServerAnswers
    case frontDoorUnhealthy, frontDoorUnread
    // Names, and what is beyond them.
    case nameUnresolved, nameElsewhere, hostUnresolved, secretRefused, providerUnreachable
    // Disks.
    case diskFull, diskFilling, diskUnread
    // Any check.
    case checkTimedOut, notPermitted

    /// The check that finds it.
    public var check: String { row.check }

    public var verdict: Diagnosis.Verdict { row.verdict }

    /// What users notice; `nil` if nothing.
    public var effect: String? { row.effect }

    private var row: (check: String, verdict: Diagnosis.Verdict, effect: String?) {
        switch self {
        case .configurationInvalid:
            ("configuration", .bad, "nothing until the next restart; from then on nobody is served")
        case .configurationWarning: ("configuration", .warning, nil)
        case .sandboxInUse: ("configuration", .warning, "nobody can sign in with a real account")
        case .configurationNotLoaded:
            ("configuration", .warning, "nothing until the next restart; from then on what was changed applies")
        case .unitFailed: ("units", .bad, "errors, or no reply, until it runs again")
        case .unitStopped: ("units", .bad, "errors, or no reply, until it is started")
        case .unitDisabled: ("units", .warning, "nothing until the host restarts; from then on no reply")
        case .unitMissing, .unitsUnread: ("units", .unknown, nil)
        case .databaseUnavailable, .databaseDenied: ("database", .bad, "every request fails (503)")
        case .schemaDiffers: ("schema", .bad, "after the next restart every request fails (503)")
        case .roleAccountUnusable: ("rights", .bad, "requests of this role fail (503), or background work stands still")
        case .rightsMissing: ("rights", .bad, "some requests fail (503), or background work stands still")
        case .rightsSurplus: ("rights", .warning, nil)
        case .rightsShared: ("rights", .unknown, nil)
        case .sealingKeyUnknown:
            ("sealingKey", .bad, "owners have to sign in again, and until then their files cannot be read by anybody")
        case .tokensDamaged: ("sealingKey", .warning, "the owners concerned have to sign in again")
        case .jobsStandStill:
            ("jobs", .bad, "no push notifications; deleted files stay in their owners' storage")
        case .backupMissing: ("backup", .unknown, nil)
        case .backupOld:
            ("backup", .bad, "nothing until the database is lost; then all that happened since the backup is, too")
        case .backupCopyOld:
            ("backup", .warning, "nothing until this host is lost; then all that happened since the copy is, too")
        case .databaseClockDiffers:
            (
                "clock", .bad,
                "sign-ins and invitations end too early or too late; uploads in progress may be cleared away"
            )
        case .clockOff: ("clock", .bad, "sign-ins fail, and push notifications")
        case .clockUnread: ("clock", .unknown, nil)
        case .responderSilent: ("apiSocket", .bad, "every request of this role fails (502)")
        case .responderUnhealthy: ("apiSocket", .bad, "every request of this role fails (503, 500)")
        case .nginxInvalid: ("nginx", .bad, "nothing until nginx restarts; from then on nobody gets a reply")
        case .nginxUnread: ("nginx", .unknown, nil)
        case .siteMissing: ("nginx", .bad, "nobody reaches the server (404, or a page of something else)")
        case .uploadLimitTooSmall: ("uploadLimit", .bad, "large files are refused (413)")
        case .connectionsFew: ("connections", .unknown, nil)
        case .certificateUnreadable, .keyMismatch:
            ("certificate", .bad, "nothing until nginx restarts; from then on nobody gets a reply")
        case .certificateExpired, .expiredCertificateServed:
            ("certificate", .bad, "nobody can connect: apps refuse the certificate")
        case .certificateExpiring: ("certificate", .warning, "nothing until it has expired; then nobody can connect")
        case .certificateForOtherName:
            ("certificate", .bad, "nobody can connect by this name: apps refuse the certificate")
        case .certificateNotLoaded:
            ("certificate", .warning, "nothing until the old certificate has expired; then nobody can connect")
        case .certificateUntrusted:
            ("certificate", .warning, "nobody can connect, unless their devices know the authority")
        case .frontDoorClosed: ("frontDoor", .bad, "nobody can connect")
        case .otherServerAnswers: ("frontDoor", .bad, "nobody reaches the server (404, or a page of something else)")
        case .frontDoorUnhealthy: ("frontDoor", .bad, "requests fail (502, 503, 504)")
        case .frontDoorUnread: ("frontDoor", .unknown, nil)
        case .nameUnresolved: ("dns", .bad, "nobody can connect by this name")
        case .nameElsewhere: ("dns", .unknown, nil)
        case .hostUnresolved:
            ("dns", .bad, "sign-ins fail, uploads and downloads too (502), push notifications are late")
        case .secretRefused:
            ("registration", .bad, "nobody can sign in with this provider; its owners' files become unreadable")
        case .providerUnreachable:
            (
                "registration", .warning,
                "nobody who is new here can sign in with this provider; transfers may fail (502)"
            )
        case .diskFull: ("disk", .bad, "requests fail as soon as the database cannot write (500, 503)")
        case .diskFilling: ("disk", .warning, "nothing until it is full; then requests fail")
        case .diskUnread: ("disk", .unknown, nil)
        case .checkTimedOut, .notPermitted: ("doctor", .unknown, nil)
        }
    }
}
