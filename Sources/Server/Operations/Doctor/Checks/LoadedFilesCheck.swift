import Posix
import Store

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
