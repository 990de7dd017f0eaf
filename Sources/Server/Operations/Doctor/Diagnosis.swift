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
