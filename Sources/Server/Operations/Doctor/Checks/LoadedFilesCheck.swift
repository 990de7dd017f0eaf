import Posix

/// Compares the files that the server's processes read at their start with the processes that run.
///
/// A process that started before a file was written has not read it as it is now: whoever changed the file has not reloaded
/// the server yet, or was interrupted before that.
public enum LoadedFilesCheck {
    private static let instances = ["syncd-api@*.service", "syncd-transfer@*.service", "syncd-jobs@*.service"]

    /// - Parameters:
    ///   - files: the configuration, and the secrets that it names.
    ///   - limit: how long systemd's answer may take.
    /// - Returns: nothing if systemd cannot be asked: ``UnitsCheck`` reports that.
    public static func examine(_ files: [String], within limit: Duration) -> [Diagnosis] {
        let outdated = outdated(files, within: limit)
        guard let file = outdated.file, let unit = outdated.units.first else { return [] }
        let others = outdated.units.count - 1
        let units = others > 0 ? "\(unit) and \(Quantity.of(others, "other unit"))" : unit
        return [
            Diagnosis(
                .configurationNotLoaded, "\(file) was changed after \(units) had been started",
                fix: "systemctl reload syncd")
        ]
    }

    /// The instances that started before one of the files was changed, and the file that was changed last.
    ///
    /// Times are whole seconds: a change in the second in which a process started is not noticed.
    public static func outdated(
        _ files: [String], within limit: Duration
    ) -> (units: [String], file: String?) {
        let changes = files.compactMap { file in
            RegularFile.secondsSince1970OfLastChange(file).map { (file: file, seconds: $0) }
        }
        guard let last = changes.max(by: { $0.seconds < $1.seconds }),
            let units = try? UnitsCheck.ask(
                instances, "Id,ActiveState,ExecMainStartTimestamp", options: ["--timestamp=unix"], within: limit)
        else { return ([], nil) }
        let outdated = units.filter { unit in
            guard unit["ActiveState"] == "active", let started = unit["ExecMainStartTimestamp"], started.first == "@",
                let seconds = Int64(started.dropFirst())
            else { return false }
            return seconds < last.seconds
        }
        return (outdated.compactMap { $0["Id"] }.sorted(), last.file)
    }
}
