public import MariaDB
import Posix
import Store

/// Examines the file systems that the server, its database and nginx write to.
public enum DiskCheck {
    /// The data written to a folder: it determines the effect of a full disk, and the remedy.
    public enum Purpose: String, Sendable, Comparable {
        // In the order of what users notice.
        case database
        /// Requests and replies that nginx buffers.
        case requests
        case everything
        /// Sockets and other files that last until the host stops.
        case running
        case counters, backups, logs

        private static let order: [Purpose] = [.database, .requests, .everything, .running, .counters, .backups, .logs]

        public static func < (one: Purpose, other: Purpose) -> Bool {
            order.firstIndex(of: one) ?? 0 < order.firstIndex(of: other) ?? 0
        }
    }

    /// A folder that programs write to.
    public struct Place: Equatable, Sendable {
        public var path: String
        public var purpose: Purpose

        public init(_ path: String, _ purpose: Purpose) {
            self.path = path
            self.purpose = purpose
        }
    }

    /// The folders of every host.
    public static var usualPlaces: [Place] {
        [
            Place("/", .everything), Place("/tmp", .everything), Place("/run", .running), Place("/var/log", .logs),
            Place("/var/lib/nginx", .requests), Place(HostedApp.current.backupFolder, .backups),
        ]
    }

    /// Examines each file system once, with all of its places. Missing places are skipped.
    public static func examine(_ places: [Place]) -> [Diagnosis] {
        var found: [(system: HostFacts.FileSystem, places: [Place])] = []
        var diagnoses: [Diagnosis] = []
        for place in places {
            do throws(PosixError) {
                let system = try HostFacts.fileSystem(at: place.path)
                if let index = found.firstIndex(where: { $0.system.device == system.device }) {
                    found[index].places.append(place)
                } else {
                    found.append((system, [place]))
                }
            } catch {
                // Another check reports what only root can examine.
                if error.isAbsence || (error.isDenial && !Terminal.isRoot) { continue }
                diagnoses.append(
                    Diagnosis(.diskUnread, "\(place.path) cannot be examined: \(error)", fix: "run as root"))
            }
        }
        return found.map { judge($0.system, $0.places) } + diagnoses
    }

    static func judge(_ system: HostFacts.FileSystem, _ places: [Place]) -> Diagnosis {
        let purposes = Set(places.map(\.purpose)).sorted()
        let path = system.mountPoint ?? places.first?.path ?? "/"
        let subject = purposes.map(\.rawValue).joined(separator: " ")
        let effect = purposes.first.flatMap(Self.effect)
        // A root file system that is read-only on purpose has other file systems for data.
        if system.isReadOnly, purposes != [.everything] {
            return Diagnosis(
                .diskReadOnly, "\(path) is mounted read-only; \(use(places)) there",
                fix: "dmesg | tail shows whether the disk has errors; mount -o remount,rw \(path)", about: subject,
                effect: effect)
        }
        let bytes = percent(system.freeBytes, system.totalBytes)
        let files = system.totalFiles > 0 ? percent(system.freeFiles, system.totalFiles) : 100
        var finding = "\(path): \(Quantity.bytes(system.freeBytes)) free of \(Quantity.bytes(system.totalBytes))"
        if system.isInMemory { finding += " of memory (tmpfs)" }
        if files < 10 { finding += ", and \(system.freeFiles) more files (inodes) of \(system.totalFiles)" }
        // Growing data needs space; sockets and counters do not.
        let least: Int64 = purposes.allSatisfy { $0 == .running || $0 == .counters } ? 1 << 20 : 100 << 20
        // A small share of a large disk is still much space. systemd-journald also limits the share that it keeps free.
        let isFull = (bytes < 3 && system.freeBytes < 2 << 30) || files < 3 || system.freeBytes < least
        let isFilling = (bytes < 10 && system.freeBytes < 8 << 30) || files < 10
        guard isFull || isFilling else { return .good("disk", finding) }
        finding += "; \(use(places)) there"
        let enough = max(2 * system.totalBytes, system.totalBytes - system.freeBytes + 2 * least)
        let remedy = Self.remedy(for: purposes, in: path, system, enough: enough, isShortOfFiles: files < bytes)
        return isFull
            ? Diagnosis(.diskFull, finding, fix: "free space: \(remedy)", about: subject, effect: effect)
            : Diagnosis(.diskFilling, finding, fix: "free space before it is full: \(remedy)", about: subject)
    }

    /// Whether a finding about a file system concerns this purpose.
    static func concerns(_ purpose: Purpose, _ subject: String?) -> Bool {
        subject?.split(separator: " ").contains { $0 == purpose.rawValue } ?? false
    }

    private static func use(_ places: [Place]) -> String {
        let uses = Set(places.map(\.purpose)).sorted().compactMap { purpose -> String? in
            switch purpose {
            case .database: "the database"
            case .requests: "nginx (requests in progress)"
            case .counters: "the metrics' counters"
            case .backups: "backups"
            case .logs: "logs"
            case .running: "sockets"
            case .everything: nil
            }
        }
        return uses.isEmpty ? "programs write" : "written by or for: \(uses.joined(separator: ", "))"
    }

    /// What users notice; `nil` for the code's own text.
    private static func effect(_ purpose: Purpose) -> String? {
        switch purpose {
        case .everything, .database: nil
        case .logs: "nothing, but events are not logged"
        case .counters: "nothing; processes that start now are missing from the metrics"
        case .backups: "nothing until the database is lost: no backups can be made"
        case .requests: "uploads and downloads that nginx has to buffer fail (500)"
        case .running: "nothing until something restarts; then sockets and counters may be missing (502)"
        }
    }

    private static func remedy(
        for purposes: [Purpose], in path: String, _ system: HostFacts.FileSystem, enough: Int64, isShortOfFiles: Bool
    ) -> String {
        let largest =
            isShortOfFiles
            ? "du -x --inodes \(path) | sort -n | tail shows the folders with the most files"
            : "du -xah \(path) | sort -h | tail shows the largest files"
        // This is memory, not a disk: it contains neither the journal's archive nor packages.
        if system.isInMemory {
            let mebibytes = max(1, (enough + (1 << 20) - 1) >> 20)
            let files = system.totalFiles > 0 ? ",nr_inodes=\(2 * system.totalFiles)" : ""
            return
                "mount -o remount,size=\(mebibytes)M\(isShortOfFiles ? files : "") \(path) makes it larger; \(largest)"
        }
        var steps: [String] = []
        if purposes.contains(.logs) { steps.append("journalctl --vacuum-size=500M") }
        if purposes.contains(.everything) { steps.append("apt clean") }
        if purposes.contains(.backups) { steps.append("old backups (syncctl backup list)") }
        if purposes.contains(.database) {
            steps.append("mariadb -e 'SHOW BINARY LOGS', which PURGE BINARY LOGS deletes")
        }
        steps.append(largest)
        if purposes.contains(.database) { steps.append("then systemctl start mariadb, unless it is running") }
        return steps.joined(separator: "; ")
    }

    private static func percent(_ free: Int64, _ total: Int64) -> Int64 { total > 0 ? free * 100 / total : 0 }
}

/// The folders in which a database on this host stores its files. A database without space does not answer, so they are
/// recorded while it still does.
public struct DatabaseFolders: Sendable {
    /// The file with the record, in the folder of the server's state.
    private static let name = "database-folders"

    public static var standardNotes: String { HostedApp.current.stateFolder }

    /// A folder that root owns.
    let notes: String

    /// - Parameter notes: a folder for the record; if it does not exist, nothing is recorded.
    public init(notes: String) {
        self.notes = notes
    }

    /// Asks the database, and records its answer; if it does not answer, uses the record, or its configuration.
    /// - Parameter accounts: the first one that the database accepts is used.
    public func find(_ accounts: [ConnectionSettings]) -> [String] {
        for settings in accounts {
            do throws(MariaDBError) {
                let folders = try Self.ask(settings)
                guard !folders.isEmpty else { continue }
                remember(folders)
                return folders
            } catch {
                // The database does not answer, so the next account would also fail.
                guard let code = error.code, code < 2_000 else { break }
            }
        }
        let noted = (try? TextFile.read("\(notes)/\(Self.name)")).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let folders = noted.split(separator: "\n").map(String.init).filter { $0.hasPrefix("/") }
        return folders.isEmpty ? Self.configured : folders
    }

    private func remember(_ folders: [String]) {
        let text = folders.map { $0 + "\n" }.joined()
        let path = "\(notes)/\(Self.name)"
        guard Terminal.isRoot, RegularFile.exists(notes),
            (try? TextFile.read(path)).map({ String(decoding: $0, as: UTF8.self) }) != text
        else { return }
        try? AtomicFile.write(Array(text.utf8), to: path, permissions: 0o644)
    }

    /// Tables, logs and temporary files (MariaDB, "Server System Variables").
    private static func ask(_ settings: ConnectionSettings) throws(MariaDBError) -> [String] {
        var settings = settings
        (settings.connectTimeout, settings.readTimeout) = (.seconds(3), .seconds(3))
        var connection = try Connection(settings)
        var data = ""
        var others: [String] = []
        try connection.query(
            """
            SELECT @@datadir, @@tmpdir, IFNULL(@@innodb_data_home_dir, ''), IFNULL(@@innodb_log_group_home_dir, ''),
                   IFNULL(@@innodb_undo_directory, ''), IFNULL(@@log_bin_basename, '')
            """
        ) { row throws(MariaDBError) in
            data = try row.text(0)
            others = try row.text(1).split(separator: ":").map(String.init)
            for column in 2...4 { others.append(try row.text(column)) }
            let log = try row.text(5)
            others.append(log.lastIndex(of: "/").map { String(log[..<$0]) } ?? "")
        }
        let folders = [data] + others.filter { $0.hasPrefix("/") }
        var different: [String] = []
        for folder in folders where !different.contains(folder) { different.append(folder) }
        return different
    }

    /// The folders in MariaDB's configuration (my_print_defaults(1)).
    private static var configured: [String] {
        let asked = try? ChildProcess.run(["my_print_defaults", "--mysqld"], within: .seconds(2))
        let named = asked?.output.split(separator: "\n").last { $0.hasPrefix("--datadir=") }
        return [named.map { String($0.dropFirst("--datadir=".count)) } ?? "/var/lib/mysql"]
    }
}
