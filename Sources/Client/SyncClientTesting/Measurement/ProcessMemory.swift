internal import Foundation

/// The memory and disk space that this process uses.
enum ProcessMemory {
    /// Resident memory in bytes; nil if the system does not report it in `/proc` (proc_pid_statm(5)).
    static var residentBytes: Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The size of an SQLite database on disk in bytes, including its log.
    static func databaseBytes(_ path: String) -> Int {
        ["", "-wal", "-shm"].reduce(0) { sum, suffix in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
            return sum + ((attributes?[.size] as? NSNumber)?.intValue ?? 0)
        }
    }
}
