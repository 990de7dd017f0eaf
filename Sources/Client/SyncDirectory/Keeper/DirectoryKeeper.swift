package import Foundation
package import SyncProtocol

/// Keeps a directory and its record in sync with a sharing group, and finds local changes to send to the group.
///
/// Knows neither server nor library: it receives deliveries, and returns work. Each method leaves directory and record
/// in a state in which the end of the process at any moment loses nothing; unfinished work is completed, or repeated,
/// by ``recover()`` and the next delivery. Not `Sendable`: one owner calls it, one call at a time.
package final class DirectoryKeeper {
    /// What a keeper cannot determine by itself.
    package struct Options: Sendable {
        /// Who changes files here; a display name.
        package var person: String
        /// How long a file must have been unchanged before it is read.
        package var quietPeriod: Duration
        /// How long replaced files are monitored, in case some program still writes to them.
        package var displacedPeriod: Duration
        /// The MIME types of files by their name extensions.
        package var mimeType: @Sendable (RelativePath) -> MIMEType
        package var now: @Sendable () -> Date
        package var newUUID: @Sendable () -> UUID

        package init(
            person: String, quietPeriod: Duration = .milliseconds(300), displacedPeriod: Duration = .seconds(10),
            mimeType: @escaping @Sendable (RelativePath) -> MIMEType,
            now: @escaping @Sendable () -> Date = { Date() }, newUUID: @escaping @Sendable () -> UUID = { UUID() }
        ) {
            self.person = person
            self.quietPeriod = quietPeriod
            self.displacedPeriod = displacedPeriod
            self.mimeType = mimeType
            self.now = now
            self.newUUID = newUUID
        }
    }

    /// What a look at the directory found.
    package struct Look: Sendable, Hashable {
        /// Whether something is changing right now, so that another look is due soon.
        package var hasUnsettled = false
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

    package init(root: DirectoryRoot, record: DirectoryRecord, options: Options) {
        self.root = root
        self.record = record
        self.options = options
    }

    /// Looks at the directory, and notes what has changed.
    /// - Throws: ``DirectoryError/directoryMoved``, ``DiskError``, ``RecordError``; then the record is unchanged, or
    ///   contains part of what was found.
    @discardableResult
    package func look() throws -> Look {
        guard root.isInPlace else { throw DirectoryError.directoryMoved }
        let rules = rules()
        let scan = try root.scan(rules)
        let quietSince = nanoseconds(options.now()) - nanoseconds(options.quietPeriod)
        let changes = LocalChanges(from: record, to: scan, ignoring: rules, quietSince: quietSince) {
            (path) throws(DiskError) in try root.reading(of: path)
        }
        for change in changes.changes { try note(change) }
        let unreadable = changes.unreadable.map { DirectoryScan.Skipped(path: $0.text, reason: .unreadable) }
        return Look(hasUnsettled: changes.hasUnsettled, skipped: scan.skipped + unreadable, folders: scan.folders)
    }

    /// The current patterns of the directory.
    func rules() -> IgnoreRules {
        guard let file = RelativePath(IgnoreRules.fileName),
            let text = root.text(of: file, maximumBytes: IgnoreRules.maximumBytes)
        else { return IgnoreRules() }
        return IgnoreRules(text: text)
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

/// Why a directory cannot be kept in sync.
package enum DirectoryError: Error, Sendable, Hashable {
    /// The directory is no longer at its path; perhaps its file system was unmounted.
    case directoryMoved
}
