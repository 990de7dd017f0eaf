/// Everything that `syncctl doctor` can find, by its stable name. docs/operations.md lists them in the same order, and a
/// test compares both.
public enum DiagnosisCode: String, CaseIterable, Encodable, Sendable {
    // The configuration.
    case configurationInvalid, configurationWarning, sandboxInUse, sandboxSilent, configurationNotLoaded
    // Closed on purpose.
    case maintenanceOn
    // Units of systemd.
    case unitFailed, unitNotReady, unitRestarting, unitStopped, unitDisabled, unitMissing, unitsUnread
    // The database, and what is in it.
    case databaseUnavailable, databaseDenied, databaseFull, databaseReadOnly, databaseLocked
    case schemaDiffers, columnsDiffer, roleAccountUnusable, rightsMissing, rightsSurplus, rightsShared
    case sealingKeyUnknown, tokensDamaged, jobsStandStill, pushRefused
    // Backups.
    case backupMissing, backupOld, backupCopyOld
    // Time.
    case databaseClockDiffers, clockOff, clockUnread
    // Responders.
    case responderSilent, responderUnhealthy, socketDenied
    // nginx, as it is configured.
    case nginxInvalid, nginxUnread, siteMissing, certificateMissing, uploadLimitTooSmall, connectionsFew
    case certificateUnreadable, certificateExpired, certificateExpiring, certificateForOtherName, keyMismatch
    case certificateOfTrial
    // nginx, as it runs.
    case frontDoorClosed, expiredCertificateServed, certificateNotLoaded, certificateUntrusted, otherServerAnswers
    case frontDoorUnhealthy, frontDoorUnread
    // The server's public address.
    case publicAddressUnreached, publicAddressElsewhere, publicAddressDropsHeaders, publicAddressDropsUnderscores
    case publicAddressLimitsRequests
    // Names, and what is beyond them.
    case nameUnresolved, nameElsewhere, hostUnresolved, secretRefused, providerUnreachable
    // The metrics page, for monitoring.
    case metricsUnanswered, countersMissing
    // Disks.
    case diskFull, diskFilling, diskReadOnly, diskUnread
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
        case .sandboxSilent: ("configuration", .bad, "sign-ins, uploads and downloads fail (502)")
        case .configurationNotLoaded:
            ("configuration", .warning, "nothing until the next restart; from then on what was changed applies")
        case .maintenanceOn: ("maintenance", .bad, "every request gets 503 with the text, and the jobs role rests")
        case .unitFailed: ("units", .bad, "errors, or no reply, until it runs again")
        case .unitNotReady: ("units", .bad, "fewer requests at once, or errors, until it is ready")
        case .unitRestarting: ("units", .bad, "requests that it was working on fail, each time it ends")
        case .unitStopped: ("units", .bad, "errors, or no reply, until it is started")
        case .unitDisabled: ("units", .warning, "nothing until the host restarts; from then on no reply")
        case .unitMissing, .unitsUnread: ("units", .unknown, nil)
        case .databaseUnavailable, .databaseDenied: ("database", .bad, "every request fails (503)")
        case .databaseFull:
            ("database", .bad, "nothing while the server's connections last; requests that need another one fail (503)")
        case .databaseReadOnly: ("writes", .bad, "uploads, commits and sign-ups fail (503); downloads work")
        case .databaseLocked: ("writes", .bad, "changes wait, and fail (429, 503)")
        case .schemaDiffers: ("schema", .bad, "after the next restart every request fails (503)")
        case .columnsDiffer: ("schema", .warning, "some requests may fail (500, 503)")
        case .roleAccountUnusable: ("rights", .bad, "requests of this role fail (503), or background work stands still")
        case .rightsMissing: ("rights", .bad, "some requests fail (503), or background work stands still")
        case .rightsSurplus: ("rights", .warning, nil)
        case .rightsShared: ("rights", .unknown, nil)
        case .sealingKeyUnknown:
            ("sealingKey", .bad, "owners have to sign in again, and until then their files cannot be read by anybody")
        case .tokensDamaged: ("sealingKey", .warning, "the owners concerned have to sign in again")
        case .jobsStandStill:
            ("jobs", .bad, "no push notifications; deleted files stay in their owners' storage")
        case .pushRefused: ("jobs", .bad, "no push notifications at these devices")
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
        case .socketDenied: ("apiSocket", .bad, "every request of this role fails (502)")
        case .responderUnhealthy: ("apiSocket", .bad, "every request of this role fails (503, 500)")
        case .nginxInvalid: ("nginx", .bad, "nothing until nginx restarts; from then on nobody gets a reply")
        case .nginxUnread: ("nginx", .unknown, nil)
        case .siteMissing: ("nginx", .bad, "nobody reaches the server (404, or a page of something else)")
        case .certificateMissing: ("certificate", .bad, "nobody can connect: there is no certificate yet")
        case .uploadLimitTooSmall: ("uploadLimit", .bad, "large files are refused (413)")
        case .connectionsFew: ("connections", .unknown, nil)
        case .certificateUnreadable, .keyMismatch:
            ("certificate", .bad, "nothing until nginx restarts; from then on nobody gets a reply")
        case .certificateExpired, .expiredCertificateServed:
            ("certificate", .bad, "nobody can connect: apps refuse the certificate")
        case .certificateExpiring: ("certificate", .warning, "nothing until it has expired; then nobody can connect")
        case .certificateForOtherName:
            ("certificate", .bad, "nobody can connect by this name: apps refuse the certificate")
        case .certificateOfTrial:
            ("certificate", .unknown, "phones refuse the certificate, unless they trust this host's own authority")
        case .certificateNotLoaded:
            ("certificate", .warning, "nothing until the old certificate has expired; then nobody can connect")
        case .certificateUntrusted:
            ("certificate", .warning, "nobody can connect, unless their devices know the authority")
        case .frontDoorClosed: ("frontDoor", .bad, "nobody can connect")
        case .otherServerAnswers: ("frontDoor", .bad, "nobody reaches the server (404, or a page of something else)")
        case .frontDoorUnhealthy: ("frontDoor", .bad, "requests fail (502, 503, 504)")
        case .frontDoorUnread: ("frontDoor", .unknown, nil)
        case .publicAddressUnreached: ("publicAddress", .unknown, nil)
        case .publicAddressElsewhere:
            ("publicAddress", .bad, "nobody reaches the server, or uploads in pieces fail")
        case .publicAddressDropsHeaders: ("publicAddress", .bad, "nobody can sign in (401)")
        case .publicAddressDropsUnderscores:
            ("publicAddress", .warning, "apps that send `access_token` cannot sign in (401); newer ones can")
        case .publicAddressLimitsRequests:
            ("publicAddress", .warning, "uploads with long metadata and long messages fail (400, 414, 431, 502)")
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
        case .metricsUnanswered, .countersMissing: ("metrics", .warning, nil)
        case .diskFull: ("disk", .bad, "requests fail as soon as the database cannot write (500, 503)")
        case .diskFilling: ("disk", .warning, "nothing until it is full; then requests fail")
        case .diskReadOnly: ("disk", .bad, "requests fail as soon as the database cannot write (500, 503)")
        case .diskUnread: ("disk", .unknown, nil)
        case .checkTimedOut, .notPermitted: ("doctor", .unknown, nil)
        }
    }
}
