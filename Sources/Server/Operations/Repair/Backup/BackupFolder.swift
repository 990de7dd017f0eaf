public import Posix
public import Store
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
    /// - Parameter made: the time of the new backup, which is kept even if others seem newer because of a wrong clock.
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
        // Root may also create backups; the user of the hourly backups must be able to open the lock and read all
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

/// The backups of a folder to keep: all of the two days before the newest, so that a backup taken after an accident
/// removes none from before it; and the last one of each day and of each week, for the configured number of days and
/// weeks. Days without a backup do not count, so that no backup expires only because time passes.
public struct RetentionPolicy: Equatable, Sendable {
    /// The numbers of days and weeks; weeks begin on Monday, UTC.
    public var days: Int
    public var weeks: Int

    private static let secondsOfDay: Int64 = 86_400
    /// The last two days, plus an hour for a late timer.
    private static let untouchedSeconds = 2 * secondsOfDay + 3_600

    public init(days: Int, weeks: Int) {
        self.days = days
        self.weeks = weeks
    }

    /// The backups to keep; always includes the newest.
    public func kept(of backups: [WireDate]) -> Set<WireDate> {
        let newestFirst = Set(backups).sorted(by: >)
        var kept = Set(newestFirst.prefix(1))
        kept.formUnion(
            newestFirst.prefix { newestFirst[0].secondsSince1970 - $0.secondsSince1970 < Self.untouchedSeconds })
        kept.formUnion(Self.lastOfEach(newestFirst, days) { Self.day(of: $0) })
        // 1970 began on a Thursday.
        kept.formUnion(Self.lastOfEach(newestFirst, weeks) { (Self.day(of: $0) + 3) / 7 })
        return kept
    }

    private static func day(of date: WireDate) -> Int64 { date.secondsSince1970 / secondsOfDay }

    private static func lastOfEach(
        _ newestFirst: [WireDate], _ count: Int, _ period: (WireDate) -> Int64
    ) -> [WireDate] {
        var seen: Set<Int64> = []
        return newestFirst.filter { seen.count < count && seen.insert(period($0)).inserted }
    }
}

/// The backups of a folder, the oldest first.
public struct BackupListing: Report {
    public struct Item: Encodable, Equatable, Sendable {
        public var name: String
        /// The time of its snapshot.
        public var takenAt: WireDate
        public var bytes: Int64
        public var ageSeconds: Int64
        /// Whether a copy elsewhere is known; this is recorded only for the last copied backup.
        public var isCopied: Bool
    }

    public var folder: String
    public var items: [Item]

    /// - Parameter lastCopied: the record of the last copy elsewhere.
    /// - Throws: ``PosixError``.
    public init(of folder: BackupFolder, lastCopied: BackupRecord?, now: WireDate) throws(PosixError) {
        self.folder = folder.path
        items = []
        for date in try folder.backups() {
            let name = BackupFolder.name(of: date)
            let file = try RegularFile(folder.path(of: date), for: .reading)
            items.append(
                Item(
                    name: name, takenAt: date, bytes: Int64(try file.size()),
                    ageSeconds: max(0, now.secondsSince1970 - date.secondsSince1970),
                    isCopied: lastCopied?.name == name))
        }
    }

    public var lines: [String] {
        guard !items.isEmpty else { return ["\(folder) has no backup"] }
        var table = TextTable("BACKUP", "TAKEN", "AGE", "SIZE", "")
        for item in items {
            table.add(
                item.name, item.takenAt.iso8601, Quantity.seconds(item.ageSeconds), Quantity.bytes(item.bytes),
                item.isCopied ? "copied elsewhere" : "")
        }
        return table.lines
    }
}
