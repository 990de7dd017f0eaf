public import Posix
public import SyncProtocol

/// A folder in which backups are regularly created, and old ones deleted. A backup is named after its time,
/// `syncd-2026-11-25T030000Z.backup.gz`. Other files are never deleted: neither files with other names, nor files whose
/// first line does not contain that time.
public struct BackupFolder {
    private static let prefix = "syncd-"
    private static let suffix = ".backup.gz"
    private static let partial = "syncd-*.backup.gz.partial"
    private static let waitingTime: Duration = .seconds(5)

    public let path: String

    public init(path: String) { self.path = path }

    /// The path of the backup of a time.
    public func path(of date: WireDate) -> String { "\(path)/\(Self.name(of: date))" }

    static func name(of date: WireDate) -> String {
        // 2026-11-25 03:00:00
        let text = Array(date.description)
        return prefix + String(text[..<10]) + "T" + String(text[11...].filter { $0 != ":" }) + "Z" + suffix
    }

    static func date(ofName name: String) -> WireDate? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        let text = Array(name.dropFirst(prefix.count).dropLast(suffix.count))
        guard text.count == 18, text[10] == "T", text[17] == "Z" else { return nil }
        let time = [text[11..<13], text[13..<15], text[15..<17]].map { String($0) }.joined(separator: ":")
        return WireDate("\(String(text[..<10])) \(time)")
    }

    /// The times of the backups in it, oldest first.
    /// - Throws: ``PosixError``.
    public func backups() throws(PosixError) -> [WireDate] {
        try Directory.names(in: path).compactMap(Self.date).filter { date in
            BackupReader(path: path(of: date)).header()?.takenAt == date
        }.sorted()
    }

    /// Deletes the backups that a policy does not keep. Call it after a new backup has been verified.
    /// - Parameter made: the time of the new backup, which stays even if others seem newer because of a wrong clock.
    /// - Returns: the names of the deleted files.
    /// - Throws: ``PosixError``; earlier deletions are not undone.
    public func prune(_ policy: RetentionPolicy, after made: WireDate) throws(PosixError) -> [String] {
        let backups = try backups()
        let kept = policy.kept(of: backups).union([made])
        var deleted: [String] = []
        for date in backups where !kept.contains(date) {
            try Directory.removeFile(path(of: date))
            deleted.append(Self.name(of: date))
        }
        return deleted
    }

    /// Runs `body` while no other process creates a backup here, after deleting unfinished files of ended processes.
    /// - Throws: ``PosixError``, `EWOULDBLOCK` if another process is creating a backup; errors of `body`.
    public func withLock<Value>(_ body: () throws -> Value) throws -> Value {
        let lock = try FileLock("\(path)/.lock", waiting: Self.waitingTime)
        // Root may create backups too; the user of the hourly backups must be able to open the lock and read all
        // backups.
        try RegularFile.giveToOwnerOfFolder("\(path)/.lock")
        for name in try Directory.names(in: path, matching: Self.partial) {
            try Directory.removeFile("\(path)/\(name)")
        }
        let result = Result { try body() }
        withExtendedLifetime(lock) {}
        return try result.get()
    }
}
