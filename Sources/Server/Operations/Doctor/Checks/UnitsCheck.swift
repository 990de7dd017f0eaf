import Posix

/// Asks systemd for the units that the server needs on this host.
public enum UnitsCheck {
    /// Units that run at times, if somebody has enabled them: none of them has to run now, or to be enabled.
    static let occasional = ["syncd-backup.timer", "syncd-backup.service", "syncd-backup-copy.service"]

    /// - Parameters:
    ///   - hasDatabase: whether the database is on this host.
    ///   - limit: how long each answer of systemd may take.
    public static func examine(hasDatabase: Bool, within limit: Duration) -> [Diagnosis] {
        do throws(NoAnswer) {
            let wanted = try ask(["syncd.target"], "Wants", within: limit).first?["Wants"] ?? ""
            let names =
                ["nginx.service"] + (hasDatabase ? ["mariadb.service"] : []) + ["syncd.target"]
                + wanted.split(separator: " ").map(String.init).sorted() + occasional
            return judge(
                try ask(names, "Id,LoadState,ActiveState,SubState,UnitFileState", within: limit).map(UnitState.init))
        } catch {
            return [
                Diagnosis(
                    .unitsUnread, "systemd cannot be asked for the server's units: \(error.sentence)",
                    fix: "if this host has systemd, run as root: systemctl status nginx mariadb syncd.target 'syncd-*'")
            ]
        }
    }

    /// What systemd knows of one unit.
    /// - Throws: ``NoAnswer``.
    static func state(of name: String, within limit: Duration) throws(NoAnswer) -> UnitState? {
        try ask([name], "Id,LoadState,ActiveState,SubState,UnitFileState", within: limit).map(UnitState.init)
            .first { $0.name == name }
    }

    struct NoAnswer: Error {
        var sentence: String
    }

    /// The properties of units (systemctl(1), `show`): a paragraph for each.
    static func ask(
        _ units: [String], _ properties: String, options: [String] = [], within limit: Duration
    ) throws(NoAnswer) -> [[String: String]] {
        let outcome: ChildProcess.Outcome
        do throws(PosixError) {
            outcome = try ChildProcess.run(
                ["systemctl", "show", "--no-pager", "--property=\(properties)"] + options + units, within: limit)
        } catch {
            throw NoAnswer(sentence: error.isAbsence ? "there is no systemctl" : "\(error)")
        }
        guard outcome.status == 0 else {
            throw NoAnswer(sentence: outcome.output.split(separator: "\n").first.map(String.init) ?? "systemctl fails")
        }
        return paragraphs(outcome.output)
    }

    static func paragraphs(_ text: String) -> [[String: String]] {
        var found: [[String: String]] = [[:]]
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if parts.count == 2 {
                found[found.count - 1][parts[0]] = parts[1]
            } else if found.last?.isEmpty == false {
                found.append([:])
            }
        }
        return found.filter { !$0.isEmpty }
    }

    static func judge(_ units: [UnitState]) -> [Diagnosis] {
        // The target stops its units with it, so that one finding is enough.
        let isTargetDown = units.contains { $0.name == "syncd.target" && $0.isDown }
        var diagnoses: [Diagnosis] = []
        for unit in units where !unit.isOccasional || unit.hasFailed || unit.isEnabled {
            if unit.isMissing {
                diagnoses.append(
                    Diagnosis(
                        .unitMissing, "systemd has no unit \(unit.name): something else may run what it would run",
                        fix: unit.name.hasPrefix("syncd") ? "install the package syncserver, or make install" : nil))
                continue
            }
            if unit.hasFailed {
                diagnoses.append(
                    Diagnosis(
                        .unitFailed, "\(unit.name) has failed (\(unit.active), \(unit.sub))",
                        fix: "journalctl -u \(unit.name) -n 50, then systemctl restart \(unit.name)"))
            } else if unit.isDown, !isTargetDown || !unit.name.hasPrefix("syncd") || unit.name == "syncd.target" {
                let masked = unit.load == "masked" ? "systemctl unmask \(unit.name) && " : ""
                diagnoses.append(
                    Diagnosis(
                        .unitStopped, "\(unit.name) is stopped (\(unit.load == "masked" ? "masked" : unit.active))",
                        fix: "\(masked)systemctl start \(unit.name)"))
            }
            if unit.isDisabled {
                diagnoses.append(
                    Diagnosis(
                        .unitDisabled, "\(unit.name) is not started when the host starts",
                        fix: "systemctl enable \(unit.name)"))
            }
        }
        if diagnoses.isEmpty {
            diagnoses.append(.good("units", "\(Quantity.of(units.count, "unit")) of systemd run as they should"))
        }
        return diagnoses
    }
}

/// What systemd knows of a unit.
struct UnitState {
    var name: String
    var load: String
    var active: String
    var sub: String
    /// Empty for units without a file of their own.
    var file: String

    init(_ properties: [String: String]) {
        name = properties["Id"] ?? ""
        load = properties["LoadState"] ?? ""
        active = properties["ActiveState"] ?? ""
        sub = properties["SubState"] ?? ""
        file = properties["UnitFileState"] ?? ""
    }

    var isOccasional: Bool { UnitsCheck.occasional.contains(name) }
    var isEnabled: Bool { file == "enabled" }
    var isMissing: Bool { load == "not-found" }
    var hasFailed: Bool { active == "failed" || sub == "auto-restart" || load == "error" || load == "bad-setting" }
    var isDown: Bool { active == "inactive" || active == "deactivating" }
    /// Instances and sockets are static: their target starts them.
    var isDisabled: Bool { file == "disabled" || file == "enabled-runtime" }
}
