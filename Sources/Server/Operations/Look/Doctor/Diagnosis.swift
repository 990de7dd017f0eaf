import SyncProtocol

/// The result of one check on a host.
public struct Diagnosis: Encodable, Equatable, Sendable {
    public enum Verdict: String, Encodable, Equatable, Sendable {
        case good
        /// Nothing has to be done; or the check could not run, and all may be well.
        case unknown
        /// It works, but somebody should investigate.
        case warning
        /// It does not work.
        case bad
    }

    /// Stable, as ``DiagnosisCode/check``; the sockets of both roles are `apiSocket` and `transferSocket`.
    public var check: String
    public var verdict: Verdict
    /// The finding's code in the list of docs/operations.md; absent if all is well.
    public var code: DiagnosisCode?
    /// The finding, in one sentence.
    public var finding: String
    /// What users notice; absent if they notice nothing.
    public var effect: String?
    /// The advice; absent if nothing has to be done.
    public var fix: String?
    /// Whether the operator ignores it.
    public var ignored = false
    /// The subject, such as a unit or a role, if other findings depend on it.
    let subject: String?

    private enum CodingKeys: CodingKey {
        case check, verdict, code, finding, effect, fix, ignored
    }

    /// A finding that the operator should know.
    /// - Parameters:
    ///   - check: if it differs from the code's.
    ///   - subject: the subject, for ``explains(_:)``.
    ///   - effect: if it differs from the code's.
    public init(
        _ code: DiagnosisCode, _ finding: String, fix: String?, check: String? = nil, about subject: String? = nil,
        effect: String? = nil
    ) {
        self.check = check ?? code.check
        self.code = code
        verdict = code.verdict
        self.finding = finding
        self.effect = effect ?? code.effect
        self.fix = fix
        self.subject = subject
    }

    private init(good check: String, _ finding: String) {
        self.check = check
        verdict = .good
        self.finding = finding
        subject = nil
    }

    /// All is well.
    public static func good(_ check: String, _ finding: String) -> Diagnosis { Diagnosis(good: check, finding) }
}

extension Diagnosis {
    /// Whether another finding is a consequence of this one, and needs no advice.
    func explains(_ other: Diagnosis) -> Bool {
        guard let code, let effect = other.code else { return false }
        let isBehindNginx = [.frontDoorUnhealthy, .countersMissing, .metricsUnanswered].contains(effect)
        switch code {
        case .maintenanceOn: return effect == .frontDoorUnhealthy
        case .diskFull where DiskCheck.concerns(.database, subject),
            .diskReadOnly where DiskCheck.concerns(.database, subject):
            return other.subject == "mariadb.service" || other.followsFromNoDatabase
                || [.databaseUnavailable, .databaseReadOnly].contains(effect)
        case .diskFull, .diskReadOnly:
            return effect == .countersMissing && DiskCheck.concerns(.counters, subject)
        case .unitFailed, .unitStopped, .unitNotReady, .unitRestarting:
            switch subject {
            case "mariadb.service"?:
                return other.followsFromNoDatabase || [.databaseUnavailable, .databaseFull].contains(effect)
            case "nginx.service"?:
                return [.frontDoorClosed, .metricsUnanswered, .publicAddressUnreached, .sandboxSilent].contains(effect)
            case SetupPaths.target?:
                return isBehindNginx || [.responderSilent, .jobsStandStill, .responderUnhealthy].contains(effect)
            case let unit?:
                guard
                    let role = ServerRole.allCases.first(where: {
                        unit.contains("-\($0.rawValue)@")
                            || unit.hasSuffix("-\($0.rawValue).socket")
                    })
                else { return false }
                switch effect {
                case .jobsStandStill: return role == .jobs
                case .responderSilent, .responderUnhealthy: return other.check == "\(role.rawValue)Socket"
                default: return other.follows(from: role)
                }
            case nil: return false
            }
        case .databaseUnavailable, .databaseDenied, .databaseFull:
            // Responders wait for a database that does not respond.
            return other.followsFromNoDatabase || (code == .databaseUnavailable && effect == .responderSilent)
        case .databaseLocked:
            return isBehindNginx || [.databaseUnavailable, .responderUnhealthy, .jobsStandStill].contains(effect)
        case .databaseReadOnly: return effect == .jobsStandStill
        case .roleAccountUnusable: return effect == .responderUnhealthy || isBehindNginx
        case .responderSilent, .responderUnhealthy, .socketDenied:
            return other.follows(from: check == "transferSocket" ? .transfer : .api)
        case .certificateUnreadable, .keyMismatch: return effect == .nginxInvalid
        case .nginxInvalid:
            return effect == .frontDoorClosed || effect == .metricsUnanswered || other.subject == "nginx.service"
        case .certificateMissing: return effect == .nameUnresolved
        case .hostUnresolved:
            return [.providerUnreachable, .publicAddressUnreached, .clockUnread].contains(effect)
                // If no name has an address, the server's name has none either.
                || (subject == NamesCheck.all && effect == .nameUnresolved)
        case .sandboxSilent: return [.providerUnreachable, .clockUnread].contains(effect)
        case .frontDoorClosed: return effect == .metricsUnanswered || effect == .publicAddressUnreached
        default: return false
        }
    }

    /// Whether it is a consequence of failed processes of a role. The api processes answer HealthCheck, which the front
    /// door check requests, and the metrics page.
    private func follows(from role: ServerRole) -> Bool {
        switch code {
        case .countersMissing: subject == role.rawValue
        case .frontDoorUnhealthy, .metricsUnanswered: role == .api
        default: false
        }
    }

    /// Whether it is a consequence of an unavailable database.
    private var followsFromNoDatabase: Bool {
        switch code {
        case .responderUnhealthy, .frontDoorUnhealthy, .roleAccountUnusable, .countersMissing, .metricsUnanswered: true
        default: false
        }
    }
}

/// The stable names of all findings of `syncctl doctor`. docs/operations.md lists them in the same order; a test
/// compares both.
public enum DiagnosisCode: String, CaseIterable, Encodable, Sendable {
    // The configuration.
    case configurationInvalid, configurationWarning, sandboxInUse, sandboxSilent, configurationNotLoaded
    // Closed on purpose.
    case maintenanceOn
    // Units of systemd.
    case unitFailed, unitNotReady, unitRestarting, unitStopped, unitDisabled, unitMissing, unitsUnread
    // The database and its contents.
    case databaseUnavailable, databaseDenied, databaseFull, databaseReadOnly, databaseLocked
    case schemaDiffers, columnsDiffer, roleAccountUnusable, rightsMissing, rightsSurplus, rightsShared
    case sealingKeyUnknown, tokensDamaged, jobsStandStill, pushRefused, rebuildOn
    // Backups.
    case backupMissing, backupOld, backupCopyOld
    // Time.
    case databaseClockDiffers, clockOff, clockUnread
    // Responders.
    case responderSilent, responderUnhealthy, socketDenied
    // nginx's configuration.
    case nginxInvalid, nginxUnread, siteMissing, certificateMissing, uploadLimitTooSmall, connectionsFew
    case certificateUnreadable, certificateExpired, certificateExpiring, certificateForOtherName, keyMismatch
    case certificateOfTrial
    // The running nginx.
    case frontDoorClosed, expiredCertificateServed, certificateNotLoaded, certificateUntrusted, otherServerAnswers
    case frontDoorUnhealthy, frontDoorUnread
    // The server's public address.
    case publicAddressUnreached, publicAddressElsewhere, publicAddressDropsHeaders, publicAddressDropsUnderscores
    case publicAddressLimitsRequests
    // Names, and other hosts.
    case nameUnresolved, nameElsewhere, hostUnresolved, secretRefused, providerUnreachable
    // The metrics page, for monitoring.
    case metricsUnanswered, countersMissing
    // Signals about changes.
    case signalsSilent
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
            ("configuration", .bad, "nothing until the next restart; then nobody is served")
        case .configurationWarning: ("configuration", .warning, nil)
        case .sandboxInUse: ("configuration", .warning, "nobody can sign in with a real account")
        case .sandboxSilent: ("configuration", .bad, "sign-ins, uploads and downloads fail (502)")
        case .configurationNotLoaded:
            ("configuration", .warning, "nothing until the next restart; then the changes take effect")
        case .maintenanceOn: ("maintenance", .bad, "every request gets 503 with the message, and the jobs role pauses")
        case .unitFailed: ("units", .bad, "errors, or no reply, until it runs again")
        case .unitNotReady: ("units", .bad, "fewer requests at once, or errors, until it is ready")
        case .unitRestarting: ("units", .bad, "each time it ends, its requests in progress fail")
        case .unitStopped: ("units", .bad, "errors, or no reply, until it is started")
        case .unitDisabled: ("units", .warning, "nothing until the host restarts; then no reply")
        case .unitMissing, .unitsUnread: ("units", .unknown, nil)
        case .databaseUnavailable, .databaseDenied: ("database", .bad, "every request fails (503)")
        case .databaseFull:
            ("database", .bad, "nothing while the server's connections last; requests that need a new one fail (503)")
        case .databaseReadOnly: ("writes", .bad, "uploads, commits and sign-ups fail (503); downloads work")
        case .databaseLocked: ("writes", .bad, "changes wait, and fail (429, 503)")
        case .schemaDiffers: ("schema", .bad, "after the next restart every request fails (503)")
        case .columnsDiffer: ("schema", .warning, "some requests may fail (500, 503)")
        case .roleAccountUnusable: ("rights", .bad, "requests of this role fail (503), or background work stops")
        case .rightsMissing: ("rights", .bad, "some requests fail (503), or background work stops")
        case .rightsSurplus: ("rights", .warning, nil)
        case .rightsShared: ("rights", .unknown, nil)
        case .sealingKeyUnknown:
            ("sealingKey", .bad, "owners have to sign in again; until then, nobody can read their files")
        case .tokensDamaged: ("sealingKey", .warning, "the affected owners have to sign in again")
        case .jobsStandStill:
            ("jobs", .bad, "no push notifications; deleted files stay in their owners' storage")
        case .pushRefused: ("jobs", .bad, "these devices get no push notifications")
        case .rebuildOn:
            ("rebuild", .warning, "people wait (503) until all their groups are back; nobody can sign up")
        case .backupMissing: ("backup", .unknown, nil)
        case .backupOld:
            ("backup", .bad, "nothing until the database is lost; then all changes since the backup are also lost")
        case .backupCopyOld:
            ("backup", .warning, "nothing until this host is lost; then all changes since the copy are also lost")
        case .databaseClockDiffers:
            (
                "clock", .bad,
                "sign-ins and invitations expire too early or too late; uploads in progress may be discarded"
            )
        case .clockOff: ("clock", .bad, "sign-ins and push notifications fail")
        case .clockUnread: ("clock", .unknown, nil)
        case .responderSilent: ("apiSocket", .bad, "every request of this role fails (502)")
        case .socketDenied: ("apiSocket", .bad, "every request of this role fails (502)")
        case .responderUnhealthy: ("apiSocket", .bad, "every request of this role fails (503, 500)")
        case .nginxInvalid: ("nginx", .bad, "nothing until nginx restarts; then nobody gets a reply")
        case .nginxUnread: ("nginx", .unknown, nil)
        case .siteMissing: ("nginx", .bad, "nobody reaches the server (404, or another site's page)")
        case .certificateMissing: ("certificate", .bad, "nobody can connect: there is no certificate yet")
        case .uploadLimitTooSmall: ("uploadLimit", .bad, "large files are rejected (413)")
        case .connectionsFew: ("connections", .unknown, nil)
        case .certificateUnreadable, .keyMismatch:
            ("certificate", .bad, "nothing until nginx restarts; then nobody gets a reply")
        case .certificateExpired, .expiredCertificateServed:
            ("certificate", .bad, "nobody can connect: apps reject the certificate")
        case .certificateExpiring: ("certificate", .warning, "nothing until it has expired; then nobody can connect")
        case .certificateForOtherName:
            ("certificate", .bad, "nobody can connect by this name: apps reject the certificate")
        case .certificateOfTrial:
            ("certificate", .unknown, "phones reject the certificate unless they trust this host's own authority")
        case .certificateNotLoaded:
            ("certificate", .warning, "nothing until the old certificate has expired; then nobody can connect")
        case .certificateUntrusted:
            ("certificate", .warning, "only devices that trust the authority can connect")
        case .frontDoorClosed: ("frontDoor", .bad, "nobody can connect")
        case .otherServerAnswers: ("frontDoor", .bad, "nobody reaches the server (404, or another site's page)")
        case .frontDoorUnhealthy: ("frontDoor", .bad, "requests fail (502, 503, 504)")
        case .frontDoorUnread: ("frontDoor", .unknown, nil)
        case .publicAddressUnreached: ("publicAddress", .unknown, nil)
        case .publicAddressElsewhere:
            ("publicAddress", .bad, "nobody can reach the server, or uploads in pieces fail")
        case .publicAddressDropsHeaders: ("publicAddress", .bad, "nobody can sign in (401)")
        case .publicAddressDropsUnderscores:
            ("publicAddress", .warning, "apps that send `access_token` cannot sign in (401); newer apps can")
        case .publicAddressLimitsRequests:
            ("publicAddress", .warning, "uploads with long metadata and long messages fail (400, 414, 431, 502)")
        case .nameUnresolved: ("dns", .bad, "nobody can connect by this name")
        case .nameElsewhere: ("dns", .unknown, nil)
        case .hostUnresolved:
            ("dns", .bad, "sign-ins, uploads and downloads fail (502); push notifications are late")
        case .secretRefused:
            ("registration", .bad, "nobody can sign in with this provider; the files of its owners become unreadable")
        case .providerUnreachable:
            (
                "registration", .warning,
                "new users cannot sign in with this provider; transfers may fail (502)"
            )
        case .metricsUnanswered, .countersMissing: ("metrics", .warning, nil)
        case .signalsSilent: ("signals", .warning, "clients without push learn of changes later")
        case .diskFull: ("disk", .bad, "requests fail as soon as the database cannot write (500, 503)")
        case .diskFilling: ("disk", .warning, "nothing until it is full; then requests fail")
        case .diskReadOnly: ("disk", .bad, "requests fail as soon as the database cannot write (500, 503)")
        case .diskUnread: ("disk", .unknown, nil)
        case .checkTimedOut, .notPermitted: ("doctor", .unknown, nil)
        }
    }
}
