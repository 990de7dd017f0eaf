internal import Foundation
internal import SyncProtocol

/// The history of a file that was changing at every look.
struct RestlessFile {
    /// When it was first seen changing, or when the last attempt to copy it failed.
    var since: Date
    var looks = 0
    /// Its first bytes when it was first read.
    var sample: DirectoryRoot.Prefix?
    /// Its size at the last look, in bytes.
    var size: Int64 = 0
    /// Whether it has become shorter since the sample was taken, which shows that programs do not only append to it.
    var hasShrunk = false
    /// Whether something other than its end changed.
    var isRewritten = false
    /// A copy of a file that is constantly replaced: valid if it was the last state of that file.
    var candidate: DirectoryRoot.OpenCopy?
    /// When its contents were last copied.
    var copied: Date?
}

// Files that never settle, such as logs and databases: files that only grow are copied and sent while they grow.
extension DirectoryKeeper {
    /// The treatment of a file that does not settle.
    package enum Restlessness: String, Sendable, Hashable {
        /// It grows: its contents so far were copied to be sent; the rest is sent later.
        case growing
        /// It is overwritten repeatedly, so that no consistent copy is possible.
        case rewritten
    }

    /// Files that have been changing too long to wait for, with their treatment.
    package var restlessFiles: [(path: RelativePath, state: Restlessness)] {
        restless.compactMap { path, file in
            if file.isRewritten { return (path, .rewritten) }
            return file.copied == nil ? nil : (path, .growing)
        }.sorted { $0.path.text < $1.path.text }
    }

    /// Records the files that are changing now, and copies those that have been growing for too long to wait.
    /// - Returns: Whether one of them is worth waiting for.
    func note(changing paths: [RelativePath]) throws -> Bool {
        let (now, current) = (options.now(), Set(paths))
        for (path, file) in restless where !current.contains(path) {
            try file.candidate.map { try FileCalls.removeFile($0.name, in: root.incoming.number) }
            restless[path] = nil
        }
        for path in current.sorted(by: { $0.text < $1.text }) {
            var file = restless[path] ?? RestlessFile(since: now)
            file.looks += 1
            try observe(path, &file, now)
            restless[path] = file
        }
        return restless.values.contains { !$0.isRewritten && $0.copied == nil }
    }

    private func observe(_ path: RelativePath, _ file: inout RestlessFile, _ now: Date) throws {
        if case .file(let signature) = try root.item(at: path) {
            file.hasShrunk = file.hasShrunk || signature.size < file.size
            file.size = signature.size
        }
        let waited = now.timeIntervalSince(file.copied ?? file.since)
        if try judge(path, &file, now) { return }
        guard file.looks >= Self.readings else { return }
        guard let sample = file.sample else {
            // A file that was written once settles before it is due.
            if waited >= seconds(options.patience) / 2 { try take(sampleOf: path, &file) }
            return
        }
        guard waited >= seconds(file.copied == nil ? options.patience : options.copyInterval) else { return }
        let name = options.newUUID().uuidString
        if !file.hasShrunk, let reading = try root.copyPrefix(of: path, as: name, extending: sample) {
            file.isRewritten = false
            file.copied = now
            file.sample = DirectoryRoot.Prefix(
                inode: reading.signature.inode, size: reading.signature.size, digest: reading.digest)
            try note(copy: name, reading, of: path)
        } else {
            try take(sampleOf: path, &file)
            file.candidate = try root.openCopy(of: path, as: name)
            if file.candidate == nil { isRewritten(&file, now) }
        }
    }

    private func take(sampleOf path: RelativePath, _ file: inout RestlessFile) throws {
        file.sample = try root.prefix(of: path)
        file.hasShrunk = false
    }

    /// Decides what to do with the copy of a file whose replacement was expected; false without such a copy.
    ///
    /// Programs write a new file completely before they replace the old one with it. Contents that did not change until
    /// the replacement are therefore complete.
    private func judge(_ path: RelativePath, _ file: inout RestlessFile, _ now: Date) throws -> Bool {
        guard let candidate = file.candidate else { return false }
        switch try root.isLast(candidate, of: path) {
        case nil: break
        case true?:
            (file.candidate, file.copied, file.isRewritten) = (nil, now, false)
            try note(copy: candidate.name, candidate.reading, of: path)
        case false?:
            file.candidate = nil
            try FileCalls.removeFile(candidate.name, in: root.incoming.number)
            isRewritten(&file, now)
        }
        return true
    }

    private func isRewritten(_ file: inout RestlessFile, _ now: Date) {
        file.isRewritten = true
        file.copied = nil
        file.since = now
    }

    /// The number of looks after which a file is read although it is changing.
    private static let readings = 3

    private func note(copy name: String, _ reading: DirectoryRoot.Reading, of path: RelativePath) throws {
        let modified = milliseconds(reading.signature)
        let uuid: FileUUID
        if let file = record.file(at: path) {
            uuid = file.fileUUID
            guard file.digest != reading.digest || file.pending.contains(.contents) else {
                return try FileCalls.removeFile(name, in: root.incoming.number)
            }
            try update(uuid) { file in
                file.signature = nil
                file.digest = reading.digest
                file.modified = modified
                file.by = options.person
                file.pending.insert(.contents)
            }
        } else {
            guard let new = FileUUID(options.newUUID().uuidString) else { return }
            uuid = new
            try record.save(
                RecordedFile(
                    fileUUID: uuid, path: path, signature: nil, digest: reading.digest,
                    mimeType: options.mimeType(path), modified: modified, by: options.person, pending: .contents))
        }
        try discardCopy(of: uuid)
        copies[uuid] = (name, reading.signature.size)
    }

    /// Removes a copy that need no longer be sent.
    func discardCopy(of uuid: FileUUID) throws {
        guard let copy = copies.removeValue(forKey: uuid) else { return }
        try FileCalls.removeFile(copy.name, in: root.incoming.number)
    }

    /// Removes the copies of files that have nothing to send, or other changes to send.
    func discardUnneededCopies() throws {
        for uuid in copies.keys {
            let file = record[uuid]
            let isNeeded = file?.pending.contains(.contents) == true && file?.signature == nil
            if !isNeeded || file?.pending.contains(.deletion) == true { try discardCopy(of: uuid) }
        }
    }

    private func seconds(_ duration: Duration) -> TimeInterval { duration / .seconds(1) }
}
