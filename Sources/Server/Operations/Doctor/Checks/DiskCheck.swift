import Posix

/// Examines the file systems that the server and its database write to.
public enum DiskCheck {
    /// What every host has.
    public static let usualPaths = ["/", "/var/log"]

    /// Each file system once, whichever of the paths are in it. Paths that do not exist are left out.
    /// - Parameter others: paths whose file systems are examined elsewhere.
    public static func examine(_ paths: [String], except others: [String] = []) -> [Diagnosis] {
        var devices = Set(others.compactMap { try? HostFacts.fileSystem(at: $0).device })
        var diagnoses: [Diagnosis] = []
        for path in paths {
            do throws(PosixError) {
                let system = try HostFacts.fileSystem(at: path)
                if devices.insert(system.device).inserted { diagnoses.append(judge(path, system)) }
            } catch {
                if error.isAbsence { continue }
                diagnoses.append(Diagnosis(.diskUnread, "\(path) cannot be looked at: \(error)", fix: "run as root"))
            }
        }
        return diagnoses
    }

    static func judge(_ path: String, _ system: HostFacts.FileSystem) -> Diagnosis {
        let bytes = percent(system.freeBytes, system.totalBytes)
        let files = system.totalFiles > 0 ? percent(system.freeFiles, system.totalFiles) : 100
        var finding = "\(path): \(Quantity.bytes(system.freeBytes)) free of \(Quantity.bytes(system.totalBytes))"
        if files < 10 { finding += ", and \(system.freeFiles) more files (inodes) of \(system.totalFiles)" }
        let isFull = bytes < 3 || files < 3 || system.freeBytes < 100 << 20
        if isFull {
            return Diagnosis(
                .diskFull, finding,
                fix: "make room: journalctl --vacuum-size=500M, apt clean, old backups; du -xh / | sort -h | tail")
        }
        if bytes < 10 || files < 10 {
            return Diagnosis(.diskFilling, finding, fix: "make room before it is full: du -xh / | sort -h | tail")
        }
        return .good("disk", finding)
    }

    private static func percent(_ free: Int64, _ total: Int64) -> Int64 { total > 0 ? free * 100 / total : 0 }
}
