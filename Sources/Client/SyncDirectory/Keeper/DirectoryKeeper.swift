package import Foundation
package import SyncProtocol

/// Synchronizes a directory and its record with a sharing group, and finds local changes to send to the group.
///
/// Knows neither server nor library: it receives deliveries, and returns work. If the process ends at any moment,
/// nothing is lost; ``recover()`` and the next delivery complete, or repeat, unfinished work. Not `Sendable`: one owner
/// calls it, one call at a time.
package final class DirectoryKeeper {
    /// Settings that a keeper cannot determine by itself.
    package struct Options: Sendable {
        /// The display name of the person who changes files here.
        package var person: String
        /// How long a file must have been unchanged before it is read.
        package var quietPeriod: Duration
        /// How long to wait for a file that keeps changing, before its contents are copied.
        package var patience: Duration
        /// The minimum time between copies of a file that keeps growing.
        package var copyInterval: Duration
        /// Whether any number of deletions may be sent without confirmation; see
        /// ``DirectoryKeeper/Look/heldDeletions``.
        package var allowsDeletions: Bool
        /// How long replaced files are monitored, in case a program still writes to them.
        package var displacedPeriod: Duration
        /// The MIME types of files by their name extensions.
        package var mimeType: @Sendable (RelativePath) -> MIMEType
        package var now: @Sendable () -> Date
        package var newUUID: @Sendable () -> UUID

        package init(
            person: String, quietPeriod: Duration = .milliseconds(300), patience: Duration = .seconds(5),
            copyInterval: Duration = .seconds(60), allowsDeletions: Bool = false,
            displacedPeriod: Duration = .seconds(10),
            mimeType: @escaping @Sendable (RelativePath) -> MIMEType,
            now: @escaping @Sendable () -> Date = { Date() }, newUUID: @escaping @Sendable () -> UUID = { UUID() }
        ) {
            self.person = person
            self.quietPeriod = quietPeriod
            self.patience = patience
            self.copyInterval = copyInterval
            self.allowsDeletions = allowsDeletions
            self.displacedPeriod = displacedPeriod
            self.mimeType = mimeType
            self.now = now
            self.newUUID = newUUID
        }
    }

    /// The findings of a look at the directory.
    package struct Look: Sendable, Hashable {
        /// Whether a file is changing right now, so that another look is due soon.
        package var hasUnsettled = false
        /// Missing files whose deletions are not passed on, since they are too many to be trusted. They stay recorded,
        /// and count as unchanged if they return.
        package var heldDeletions: [RelativePath] = []
        /// The skipped files and folders.
        package var skipped: [DirectoryScan.Skipped] = []
        /// The folders that are not ignored.
        package var folders: [RelativePath] = []
    }

    package let root: DirectoryRoot
    package let record: DirectoryRecord
    let options: Options
    /// Conflicts since the last call of ``takeConflicts()``.
    private var newConflicts: [DirectoryConflict] = []
    /// Files that were changing at each look so far.
    var restless: [RelativePath: RestlessFile] = [:]
    /// Copies of files that grow, in the folder of incoming files, to be sent instead of the files.
    var copies: [FileUUID: (name: String, size: Int64)] = [:]
    /// The recent deletions that were passed on.
    private var brake = DeletionBrake()

    package init(root: DirectoryRoot, record: DirectoryRecord, options: Options) {
        self.root = root
        self.record = record
        self.options = options
    }

    /// Looks at the directory, and records its changes.
    /// - Throws: ``DirectoryError/directoryMoved``, ``DiskError``, ``RecordError``; then the record is unchanged, or
    ///   contains part of the changes.
    @discardableResult
    package func look() throws -> Look {
        guard root.isInPlace else { throw DirectoryError.directoryMoved }
        let rules = rules()
        let scan = try root.scan(rules, record: record)
        try record.setTwins(scan.twins)
        try followSpelling(scan)
        let quietSince = nanoseconds(options.now()) - nanoseconds(options.quietPeriod)
        let changes = LocalChanges(
            from: record, to: scan, ignoring: rules, restless: Set(restlessFiles.map(\.path)), quietSince: quietSince
        ) { (path) throws(DiskError) in try root.reading(of: path) }
        let deleted = changes.deleted
        let isHeld =
            !options.allowsDeletions
            && brake.holds(deleted.count, of: record.presentCount, at: options.now())
        try record.together {
            for change in changes.changes {
                if case .deleted = change, isHeld { continue }
                try note(change)
            }
        }
        let isWorthWaiting = try note(changing: changes.changing)
        var look = Look(hasUnsettled: changes.hasHalfMoves || isWorthWaiting)
        look.heldDeletions = isHeld ? deleted.compactMap { record[$0]?.path }.sorted { $0.text < $1.text } : []
        look.skipped =
            scan.skipped + changes.unreadable.map { DirectoryScan.Skipped(path: $0.text, reason: .unreadable) }
        look.folders = scan.folders
        return look
    }

    /// The changes in the directory that are not recorded yet; records nothing. Files that are changing right now count
    /// as changed.
    package func unnotedChanges() throws -> [(path: RelativePath, what: RecordedFile.Pending)] {
        let rules = rules()
        let scan = try root.scan(rules, record: record)
        let changes = LocalChanges(from: record, to: scan, ignoring: rules, quietSince: .max) {
            (path) throws(DiskError) in try root.reading(of: path)
        }
        var found: [(path: RelativePath, what: RecordedFile.Pending)] = changes.changing.map { ($0, .contents) }
        for change in changes.changes {
            switch change {
            case .created(let path, _): found.append((path, .contents))
            case .changed(let uuid, _): record[uuid].map { found.append(($0.path, .contents)) }
            case .moved(_, let path, _): found.append((path, .path))
            case .deleted(let uuid): record[uuid].map { found.append(($0.path, .deletion)) }
            case .confirmed: break
            }
        }
        return found
    }

    /// The current patterns of the directory.
    func rules() -> IgnoreRules {
        guard let file = RelativePath(IgnoreRules.fileName),
            let text = root.text(of: file, maximumBytes: IgnoreRules.maximumBytes)
        else { return IgnoreRules() }
        return IgnoreRules(text: text)
    }

    /// Adopts the names of files and folders that were renamed to another Unicode normalization form; everything else
    /// is unchanged.
    private func followSpelling(_ scan: DirectoryScan) throws {
        for path in scan.files.keys {
            guard let file = record.file(at: path), file.path == path, !file.path.isSpelled(like: path) else {
                continue
            }
            try update(file.fileUUID) { $0.path = path }
        }
    }

    private func note(_ change: LocalChanges.Change) throws {
        switch change {
        case .created(let path, let reading):
            guard let uuid = FileUUID(options.newUUID().uuidString) else { return }
            try record.save(
                RecordedFile(
                    fileUUID: uuid, path: path, signature: reading.signature, digest: reading.digest,
                    mimeType: options.mimeType(path), modified: milliseconds(reading.signature), by: options.person,
                    pending: .contents))
        case .changed(let uuid, let reading):
            try update(uuid) { file in
                file.signature = reading.signature
                file.digest = reading.digest
                file.modified = milliseconds(reading.signature)
                file.by = options.person
                file.pending.insert(.contents)
            }
        case .moved(let uuid, let path, let reading):
            try update(uuid) { file in
                file.path = path
                file.signature = reading.signature
                file.isAlias = false
                file.pending.insert(.path)
            }
        case .deleted(let uuid): try update(uuid) { $0.pending.insert(.deletion) }
        case .confirmed(let uuid, let reading): try update(uuid) { $0.signature = reading.signature }
        }
    }

    func update(_ uuid: FileUUID, _ body: (inout RecordedFile) -> Void) throws(RecordError) {
        guard var file = record[uuid] else { return }
        body(&file)
        try record.save(file)
    }

    func note(_ conflict: DirectoryConflict) throws(RecordError) {
        try record.add(conflict)
        newConflicts.append(conflict)
    }

    /// Conflicts since the last call.
    package func takeConflicts() -> [DirectoryConflict] {
        defer { newConflicts = [] }
        return newConflicts
    }

    func milliseconds(_ signature: FileSignature) -> Int64 { signature.modified / 1_000_000 }

    private func nanoseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970 * 1e9) }

    private func nanoseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    }
}

/// Stops deletions that look like a folder whose file system is not mounted.
///
/// Deletions within a minute count together, since a folder does not disappear in one moment.
package struct DeletionBrake {
    /// Fewer deletions are always passed on.
    static let minimum = 20
    private static let period: TimeInterval = 60
    private var passed: [(date: Date, count: Int)] = []

    package init() {}

    /// Whether deletions must be held back; otherwise records them as passed on.
    /// - Parameters:
    ///   - deleted: the number of files that are missing now.
    ///   - present: the number of recorded files, including the missing ones.
    package mutating func holds(_ deleted: Int, of present: Int, at now: Date) -> Bool {
        guard deleted > 0 else { return false }
        passed.removeAll { now.timeIntervalSince($0.date) > Self.period || $0.date > now }
        let before = passed.map(\.count).reduce(0, +)
        let (all, total) = (before + deleted, before + present)
        if all >= Self.minimum, all * 3 > total { return true }
        passed.append((now, deleted))
        return false
    }
}

/// Why a directory cannot be synchronized.
package enum DirectoryError: Error, Sendable, Hashable {
    /// The directory is no longer at its path; perhaps its file system was unmounted.
    case directoryMoved
}
