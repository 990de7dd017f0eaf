import Posix
import Store

/// Asks systemd for the state of the units that the server needs on this host.
public enum UnitsCheck {
    /// Units that run at intervals, if enabled: none of them has to be running now, or to be enabled.
    static var occasional: [String] {
        ["-backup.timer", "-backup.service", "-backup-copy.service"].map(HostedApp.current.unit)
    }

    /// - Parameters:
    ///   - hasDatabase: whether the database is on this host.
    ///   - limit: the time limit for each answer of systemd.
    public static func examine(hasDatabase: Bool, within limit: Duration) -> [Diagnosis] {
        do throws(NoAnswer) {
            let wanted = try ask([SetupPaths.target], "Wants", within: limit).first?["Wants"] ?? ""
            let names =
                ["nginx.service"] + (hasDatabase ? ["mariadb.service"] : []) + [SetupPaths.target]
                + wanted.split(separator: " ").map(String.init).sorted() + occasional
            return judge(
                try ask(names, UnitState.properties, options: ["--timestamp=unix"], within: limit).map {
                    UnitState($0)
                },
                at: WallClock.secondsSince1970())
        } catch {
            return [
                Diagnosis(
                    .unitsUnread, "systemd cannot be asked for the server's units: \(error.sentence)",
                    fix: "if this host has systemd, run as root: systemctl status nginx mariadb syncd.target 'syncd-*'")
            ]
        }
    }

    /// The state of one unit.
    /// - Throws: ``NoAnswer``.
    static func state(of name: String, within limit: Duration) throws(NoAnswer) -> UnitState? {
        try ask([name], UnitState.properties, within: limit).map { UnitState($0) }
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

    /// - Parameter now: in seconds since 1970.
    static func judge(_ units: [UnitState], at now: Int64) -> [Diagnosis] {
        // The target stops its units, so one finding is enough.
        let isTargetDown = units.contains { $0.name == SetupPaths.target && $0.isDown }
        var diagnoses: [Diagnosis] = []
        for unit in units where !unit.isOccasional || unit.hasFailed || unit.isEnabled {
            if unit.isMissing {
                diagnoses.append(
                    Diagnosis(
                        .unitMissing, "systemd has no unit \(unit.name): another program may do its work",
                        fix: unit.name.hasPrefix("syncd") ? "install the package syncserver, or make install" : nil))
                continue
            }
            if unit.hasFailed {
                diagnoses.append(
                    Diagnosis(
                        .unitFailed, "\(unit.name) has failed (\(unit.active), \(unit.sub))",
                        fix: "journalctl -u \(unit.name) -n 50, then \(unit.restart)", about: unit.name))
            } else if unit.isNotReady {
                diagnoses.append(
                    Diagnosis(
                        .unitNotReady,
                        "\(unit.name) does not become ready (\(unit.active), \(unit.sub); restarted \(unit.restarts) "
                            + "times)",
                        fix: "journalctl -u \(unit.name) -n 50, then \(unit.restart)", about: unit.name))
            } else if unit.isRestartingOften(at: now) {
                diagnoses.append(
                    Diagnosis(
                        .unitRestarting,
                        "\(unit.name) keeps ending: systemd has restarted it \(unit.restarts) times, last "
                            + "\(Quantity.seconds(now - (unit.activeSince ?? now))) ago",
                        fix: "journalctl -u \(unit.name) -n 50 shows why it ends", about: unit.name))
            } else if unit.isDown, !isTargetDown || !unit.name.hasPrefix("syncd") || unit.name == SetupPaths.target {
                let masked = unit.load == "masked" ? "systemctl unmask \(unit.name) && " : ""
                diagnoses.append(
                    Diagnosis(
                        .unitStopped, "\(unit.name) is stopped (\(unit.load == "masked" ? "masked" : unit.active))",
                        fix: "\(masked)systemctl start \(unit.name)", about: unit.name))
            }
            if unit.isDisabled {
                diagnoses.append(
                    Diagnosis(
                        .unitDisabled, "\(unit.name) does not start when the host starts",
                        fix: "systemctl enable \(unit.name)"))
            }
        }
        if diagnoses.isEmpty {
            diagnoses.append(.good("units", "\(Quantity.of(units.count, "systemd unit")) in the expected state"))
        }
        return diagnoses
    }
}

/// The state of a unit, from systemd.
struct UnitState {
    static let properties = "Id,LoadState,ActiveState,SubState,UnitFileState,NRestarts,ActiveEnterTimestamp,DropInPaths"

    var name: String
    var load: String
    var active: String
    var sub: String
    /// Empty for units without their own file.
    var file: String
    /// How often systemd has restarted it by itself.
    var restarts: Int
    /// In seconds since 1970.
    var activeSince: Int64?
    /// Drop-ins with which somebody has changed the unit on this host. Those that `syncctl apps` has created for an
    /// added app are part of the unit: without them, it would run as root.
    var changes: [String]

    /// - Parameter root: the prefix of each path; empty for the host itself.
    init(_ properties: [String: String], root: String = "") {
        name = properties["Id"] ?? ""
        load = properties["LoadState"] ?? ""
        active = properties["ActiveState"] ?? ""
        sub = properties["SubState"] ?? ""
        file = properties["UnitFileState"] ?? ""
        restarts = properties["NRestarts"].flatMap { Int($0) } ?? 0
        let own = ["/etc/systemd/", "/run/systemd/system/", "/run/systemd/system.control/", "/usr/local/"]
        changes = (properties["DropInPaths"] ?? "").split(separator: " ").map(String.init).filter { path in
            own.contains { path.hasPrefix($0) } && !AppFiles.isMade(root + path)
        }
        activeSince = properties["ActiveEnterTimestamp"].flatMap { $0.first == "@" ? Int64($0.dropFirst()) : nil }
    }

    var isOccasional: Bool { UnitsCheck.occasional.contains(name) }
    var isEnabled: Bool { file == "enabled" }
    var isMissing: Bool { load == "not-found" }
    var hasFailed: Bool { active == "failed" || sub == "auto-restart" || load == "error" || load == "bad-setting" }
    /// Whether a service is still starting. Services that run at intervals start only when they run.
    var isNotReady: Bool { active == "activating" && !isOccasional }
    /// The commands that restart it, without the changes that may prevent its start.
    var restart: String {
        let restart = "systemctl restart \(name)"
        guard !changes.isEmpty else { return restart }
        return "\(restart); if this host's drop-ins are the cause (systemctl cat \(name)): "
            + changes.map { "mv \($0) \($0).off; " }.joined() + "systemctl daemon-reload; \(restart)"
    }

    /// Whether it is running, but has ended by itself several times, most recently just now.
    func isRestartingOften(at now: Int64) -> Bool {
        guard active == "active", restarts >= 3, let activeSince else { return false }
        return now - activeSince < 300
    }
    var isDown: Bool { active == "inactive" || active == "deactivating" }
    /// Instances and sockets are static: their target starts them.
    var isDisabled: Bool { file == "disabled" || file == "enabled-runtime" }
}

/// Checks that the running processes have loaded the current versions of the files that they read at their start. A
/// process that started before a file was written has not read its current version: the server was not reloaded after
/// the change.
public enum LoadedFilesCheck {
    private static var instances: [String] {
        ["-api@*.service", "-transfer@*.service", "-jobs@*.service"].map(HostedApp.current.unit)
    }

    /// - Parameters:
    ///   - files: the configuration, and the secrets that it names.
    ///   - limit: the time limit for systemd's answer.
    /// - Returns: nothing if systemd cannot be asked: ``UnitsCheck`` reports that.
    public static func examine(_ files: [String], within limit: Duration) -> [Diagnosis] {
        let outdated = outdated(files, within: limit)
        guard let file = outdated.file, let unit = outdated.units.first else { return [] }
        let others = outdated.units.count - 1
        let units = others > 0 ? "\(unit) and \(Quantity.of(others, "other unit"))" : unit
        return [
            Diagnosis(
                .configurationNotLoaded, "\(file) was changed after \(units) started",
                fix: "systemctl reload syncd")
        ]
    }

    /// The instances that have loaded an outdated version of one of the files, and the first of these files. A file
    /// that was changed after an instance's start may still have the same text, if only its permissions changed or the
    /// same text was written again. For each instance, systemd keeps a copy of what it has loaded (systemd.exec(5),
    /// `LoadCredential=`), which only root can read; without a copy, the time decides. Times are whole seconds: a
    /// change in the second in which a process started is not detected.
    public static func outdated(
        _ files: [String], within limit: Duration
    ) -> (units: [String], file: String?) {
        guard
            let units = try? UnitsCheck.ask(
                instances, "Id,ActiveState,ExecMainStartTimestamp", options: ["--timestamp=unix"], within: limit)
        else { return ([], nil) }
        return outdated(files, units, copies: "/run/credentials")
    }

    /// - Parameters:
    ///   - files: the configuration first, then the secrets.
    ///   - copies: the folder with systemd's copies, which has a folder for each unit.
    static func outdated(
        _ files: [String], _ units: [[String: String]], copies: String
    ) -> (units: [String], file: String?) {
        let changes = files.enumerated().compactMap { index, file in
            RegularFile.secondsSince1970OfLastChange(file).map {
                (file: file, isConfiguration: index == 0, seconds: $0)
            }
        }.sorted { $0.seconds > $1.seconds }
        var outdated: [String] = []
        var first: String?
        for unit in units {
            guard unit["ActiveState"] == "active", let started = unit["ExecMainStartTimestamp"], started.first == "@",
                let seconds = Int64(started.dropFirst()), let name = unit["Id"]
            else { continue }
            let changed = changes.first { change in
                guard seconds < change.seconds else { return false }
                let last = change.file.split(separator: "/").last.map(String.init) ?? ""
                let folder = "\(copies)/\(name)/"
                let copy = folder + (change.isConfiguration ? "configuration" : "secret_\(last)")
                // Each role gets only the secrets that it needs.
                if !change.isConfiguration, AtomicFile.exists(folder + "configuration"), !AtomicFile.exists(copy) {
                    return false
                }
                guard let loaded = try? TextFile.read(copy), let present = try? TextFile.read(change.file) else {
                    return true
                }
                return loaded != present
            }
            guard let changed else { continue }
            outdated.append(name)
            first = first ?? changed.file
        }
        return (outdated.sorted(), first)
    }
}
