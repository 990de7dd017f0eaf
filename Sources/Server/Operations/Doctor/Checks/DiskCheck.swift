public import MariaDB
import Posix
import Store

/// Examines the file systems that the server, its database and nginx write to.
public enum DiskCheck {
    /// What is written to a folder: it decides what follows if there is no room, and what makes room.
    public enum Purpose: String, Sendable, Comparable {
        // In the order of what users notice.
        case database
        /// What nginx keeps of requests and replies while they are under way.
        case requests
        case everything
        /// Sockets, and what else lasts until the host stops.
        case running
        case counters, backups, logs

        private static let order: [Purpose] = [.database, .requests, .everything, .running, .counters, .backups, .logs]

        public static func < (one: Purpose, other: Purpose) -> Bool {
            order.firstIndex(of: one) ?? 0 < order.firstIndex(of: other) ?? 0
        }
    }

    /// A folder that is written to.
    public struct Place: Equatable, Sendable {
        public var path: String
        public var purpose: Purpose

        public init(_ path: String, _ purpose: Purpose) {
            self.path = path
            self.purpose = purpose
        }
    }

    /// What every host has.
    public static var usualPlaces: [Place] {
        [
            Place("/", .everything), Place("/tmp", .everything), Place("/run", .running), Place("/var/log", .logs),
            Place("/var/lib/nginx", .requests), Place(HostedApp.current.backupFolder, .backups),
        ]
    }

    /// Each file system once, with all that is written to it. Places that do not exist are left out.
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
                // Another check notes what only root can examine.
                if error.isAbsence || (error.isDenial && !Terminal.isRoot) { continue }
                diagnoses.append(
                    Diagnosis(.diskUnread, "\(place.path) cannot be looked at: \(error)", fix: "run as root"))
            }
        }
        return found.map { judge($0.system, $0.places) } + diagnoses
    }

    static func judge(_ system: HostFacts.FileSystem, _ places: [Place]) -> Diagnosis {
        let purposes = Set(places.map(\.purpose)).sorted()
        let path = system.mountPoint ?? places.first?.path ?? "/"
        let subject = purposes.map(\.rawValue).joined(separator: " ")
        let effect = purposes.first.flatMap(Self.effect)
        // A root that is read only on purpose has other file systems for what is written.
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
        // What grows needs room; sockets and counters do not.
        let least: Int64 = purposes.allSatisfy { $0 == .running || $0 == .counters } ? 1 << 20 : 100 << 20
        let isFull = bytes < 3 || files < 3 || system.freeBytes < least
        guard isFull || bytes < 10 || files < 10 else { return .good("disk", finding) }
        finding += "; \(use(places)) there"
        let enough = max(2 * system.totalBytes, system.totalBytes - system.freeBytes + 2 * least)
        let remedy = Self.remedy(for: purposes, in: path, system, enough: enough, isShortOfFiles: files < bytes)
        return isFull
            ? Diagnosis(.diskFull, finding, fix: "make room: \(remedy)", about: subject, effect: effect)
            : Diagnosis(.diskFilling, finding, fix: "make room before it is full: \(remedy)", about: subject)
    }

    /// Whether a finding about a file system concerns this purpose.
    static func concerns(_ purpose: Purpose, _ subject: String?) -> Bool {
        subject?.split(separator: " ").contains { $0 == purpose.rawValue } ?? false
    }

    private static func use(_ places: [Place]) -> String {
        let uses = Set(places.map(\.purpose)).sorted().compactMap { purpose -> String? in
            switch purpose {
            case .database: "the database"
            case .requests: "nginx (requests under way)"
            case .counters: "the metrics' counters"
            case .backups: "backups"
            case .logs: "logs"
            case .running: "sockets"
            case .everything: nil
            }
        }
        return uses.isEmpty ? "programs write" : "written by or for: \(uses.joined(separator: ", "))"
    }

    /// What users notice; `nil` for what the code says.
    private static func effect(_ purpose: Purpose) -> String? {
        switch purpose {
        case .everything, .database: nil
        case .logs: "nothing; what happens meanwhile is in no log"
        case .counters: "nothing; processes that start now do not count for the metrics"
        case .backups: "nothing until the database is lost: no backup can be made"
        case .requests: "uploads and downloads that nginx has to keep for a moment fail (500)"
        case .running: "nothing until something restarts; then sockets and counters may be missing (502)"
        }
    }

    private static func remedy(
        for purposes: [Purpose], in path: String, _ system: HostFacts.FileSystem, enough: Int64, isShortOfFiles: Bool
    ) -> String {
        let largest =
            isShortOfFiles
            ? "du -x --inodes \(path) | sort -n | tail shows which folders have so many files"
            : "du -xah \(path) | sort -h | tail shows what is large"
        // What is here is memory, not a disk: neither the journal's archive nor packages are in it.
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
        if purposes.contains(.database) { steps.append("mariadb -e 'SHOW BINARY LOGS', which PURGE BINARY LOGS ends") }
        steps.append(largest)
        if purposes.contains(.database) { steps.append("then systemctl start mariadb, unless it runs") }
        return steps.joined(separator: "; ")
    }

    private static func percent(_ free: Int64, _ total: Int64) -> Int64 { total > 0 ? free * 100 / total : 0 }
}

/// Where a database on this host keeps its files. Once it has no room it does not answer any more, so that this is noted as
/// long as it does.
public struct DatabaseFolders: Sendable {
    /// The file with the note, in the folder of the server's state.
    private static let name = "database-folders"

    public static var standardNotes: String { HostedApp.current.stateFolder }

    /// A folder of root's.
    let notes: String

    /// - Parameter notes: a folder for the note; if there is none, nothing is noted.
    public init(notes: String) {
        self.notes = notes
    }

    /// Asks the database, and notes what it says; if it does not answer, what was noted, or what its configuration says.
    /// - Parameter accounts: the first one that the database lets in is used.
    public func find(_ accounts: [ConnectionSettings]) -> [String] {
        for settings in accounts {
            do throws(MariaDBError) {
                let folders = try Self.ask(settings)
                guard !folders.isEmpty else { continue }
                remember(folders)
                return folders
            } catch {
                // Nothing answers, and nothing would answer the other one.
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

    /// What MariaDB's configuration says (my_print_defaults(1)).
    private static var configured: [String] {
        let asked = try? ChildProcess.run(["my_print_defaults", "--mysqld"], within: .seconds(2))
        let named = asked?.output.split(separator: "\n").last { $0.hasPrefix("--datadir=") }
        return [named.map { String($0.dropFirst("--datadir=".count)) } ?? "/var/lib/mysql"]
    }
}
