package import SyncProtocol

/// The changes to a directory since the last look, found by comparing its record with a scan.
package struct LocalChanges: Sendable, Hashable {
    /// One change.
    package enum Change: Sendable, Hashable {
        /// A file that is not in the record.
        case created(RelativePath, DirectoryRoot.Reading)
        /// New contents.
        case changed(FileUUID, DirectoryRoot.Reading)
        /// The same contents at another path.
        case moved(FileUUID, RelativePath, DirectoryRoot.Reading)
        /// The file is gone.
        case deleted(FileUUID)
        /// The same contents at the same path, read again.
        case confirmed(FileUUID, DirectoryRoot.Reading)
    }

    /// The changes, in an order that depends only on the directory.
    package var changes: [Change] = []
    /// Files that are changing right now; the next look handles them.
    package var changing: [RelativePath] = []
    /// Whether a missing file may have been moved to a path whose file is still changing.
    package var hasHalfMoves = false
    /// Whether files remain for the next look.
    package var hasUnsettled: Bool { hasHalfMoves || !changing.isEmpty }
    /// The missing files.
    package var deleted: [FileUUID] {
        changes.compactMap { change in if case .deleted(let uuid) = change { uuid } else { nil } }
    }
    /// Files that cannot be read.
    package var unreadable: [RelativePath] = []

    /// Compares a record with a scan.
    ///
    /// - Parameters:
    ///   - record: the last known state.
    ///   - scan: the current state.
    ///   - rules: the ignore rules; a recorded file that is now ignored counts as unchanged.
    ///   - restless: files that have been changing for a long time; no missing file waits for them.
    ///   - quietSince: in nanoseconds since 1970: programs may still be writing files that changed after it, which are
    ///     left for the next look. Times that are more than a minute ahead of it come from another clock, and are
    ///     disregarded.
    ///   - read: reads a file; nil if it is changing right now.
    package init(
        from record: DirectoryRecord, to scan: DirectoryScan, ignoring rules: IgnoreRules,
        restless: Set<RelativePath> = [], quietSince: Int64,
        read: (RelativePath) throws(DiskError) -> DirectoryRoot.Reading?
    ) {
        var missing: [RecordedFile] = []
        let suspects = record.files {
            !$0.pending.contains(.deletion) && ($0.signature == nil || scan.files[$0.path] != $0.signature)
        }
        for file in suspects {
            guard let signature = scan.files[file.path] else {
                if !scan.isUnknown(file.path), !rules.ignoresFile(file.path) { missing.append(file) }
                continue
            }
            guard let reading = reading(scan.spelling(of: file.path), signature, quietSince, read) else { continue }
            changes.append(
                reading.digest == file.digest ? .confirmed(file.fileUUID, reading) : .changed(file.fileUUID, reading))
        }

        var found: [(path: RelativePath, reading: DirectoryRoot.Reading)] = []
        var unsettled: [FileSignature] = []
        let movable = Set(missing.compactMap(\.signature?.contentsIdentity))
        let new = scan.files.keys.filter { record.file(at: $0) == nil }
        for path in new.sorted(by: { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }) {
            guard let signature = scan.files[path] else { continue }
            // A move is not a write: it changes neither size nor modification time.
            let isMoved = movable.contains(signature.contentsIdentity)
            if let reading = reading(path, signature, isMoved ? .max : quietSince, read) {
                found.append((path, reading))
            } else if !restless.contains(path) {
                unsettled.append(signature)
            }
        }
        settle(missing, found, unsettled)
    }

    /// Matches missing files with found files.
    private mutating func settle(
        _ missing: [RecordedFile], _ found: [(path: RelativePath, reading: DirectoryRoot.Reading)],
        _ unsettled: [FileSignature]
    ) {
        var candidates: [ContentDigest: [Int]] = [:]
        for (index, file) in found.enumerated() { candidates[file.reading.digest, default: []].append(index) }
        var taken: Set<Int> = []
        for file in missing {
            let free = (candidates[file.digest] ?? []).filter { !taken.contains($0) }
            let same = free.first { found[$0].reading.signature.inode == file.signature?.inode }
            // All empty files are alike.
            if let match = same ?? free.first(where: { found[$0].reading.signature.size > 0 }) {
                taken.insert(match)
                changes.append(.moved(file.fileUUID, found[match].path, found[match].reading))
            } else if unsettled.contains(where: { file.signature?.resembles($0) ?? true }) {
                // It may have been moved to a path whose file is still changing.
                hasHalfMoves = true
            } else {
                changes.append(.deleted(file.fileUUID))
            }
        }
        for (index, file) in found.enumerated() where !taken.contains(index) {
            changes.append(.created(file.path, file.reading))
        }
    }

    private mutating func reading(
        _ path: RelativePath, _ signature: FileSignature, _ quietSince: Int64,
        _ read: (RelativePath) throws(DiskError) -> DirectoryRoot.Reading?
    ) -> DirectoryRoot.Reading? {
        let isRecent = signature.changed > quietSince && signature.changed - quietSince < 60_000_000_000
        if isRecent {
            changing.append(path)
            return nil
        }
        do throws(DiskError) {
            if let reading = try read(path), reading.signature == signature { return reading }
            changing.append(path)
        } catch {
            unreadable.append(path)
        }
        return nil
    }
}
