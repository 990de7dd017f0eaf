package import SyncProtocol

extension DirectoryKeeper {
    /// A change to pass to the library.
    package enum Work: Sendable, Hashable {
        /// Upload the contents at a path, with a new text, even if only one of them is new.
        case upload(RecordedFile, text: String)
        /// Upload a copy of the contents, at this absolute path, with a new text; the library takes over the copy.
        case uploadCopy(RecordedFile, text: String, copy: String)
        /// Upload a new text.
        case describe(RecordedFile, text: String)
        /// Delete the file.
        case delete(RecordedFile)

        /// The file.
        package var file: RecordedFile {
            switch self {
            case .upload(let file, _), .uploadCopy(let file, _, _), .describe(let file, _), .delete(let file): file
            }
        }
    }

    /// The changes to pass to the library now, at most `limit`.
    ///
    /// Files that change again meanwhile are omitted: the next ``look()`` finds them.
    package func work(limit: Int) throws -> [Work] {
        try discardUnneededCopies()
        var work: [Work] = []
        for file in record.files(where: { !$0.pending.isEmpty }) {
            guard work.count < limit else { break }
            if file.pending.contains(.deletion) {
                work.append(.delete(file))
                continue
            }
            // The download of a conflict must be delivered first.
            guard file.conflict.isEmpty else { continue }
            let text = description(of: file).appMetaData
            if file.pending.contains(.contents), let copy = copies[file.fileUUID] {
                work.append(.uploadCopy(file, text: text, copy: root.absoluteIncomingPath(copy.name)))
            } else if file.pending.contains(.contents) {
                guard let signature = file.signature, try root.item(at: file.path) == .file(signature) else { continue }
                work.append(.upload(file, text: text))
            } else {
                work.append(.describe(file, text: text))
            }
        }
        return work
    }

    /// Whether there are changes to pass to the library.
    package var hasWork: Bool { record.contains { !$0.pending.isEmpty } }

    /// As ``accepted(_:)``, for several pieces of work, in one transaction.
    package func accepted(_ works: [Work]) throws { try record.together { for work in works { try accepted(work) } } }

    /// Records that the library has durably accepted work.
    ///
    /// Contents that changed while the library copied them are not trusted: they are read and uploaded again.
    package func accepted(_ work: Work) throws {
        let before = work.file
        switch work {
        case .delete:
            try handOver(before, .deletion)
            try record.remove(before.fileUUID)
        case .describe:
            try handOver(before, .path)
            try update(before.fileUUID) { $0.pending.remove(.path) }
        case .uploadCopy:
            try handOver(before, .contents, bytes: copies[before.fileUUID]?.size ?? 0)
            copies[before.fileUUID] = nil
            try update(before.fileUUID) { $0.pending.subtract([.path, .contents]) }
        case .upload:
            try handOver(before, .contents, bytes: before.signature?.size ?? 0)
            let isSame = try root.item(at: before.path) == before.signature.map { .file($0) }
            try update(before.fileUUID) { file in
                file.pending.remove(.path)
                if isSame { file.pending.remove(.contents) } else { file.signature = nil }
            }
        }
    }

    /// Records that the library permanently refuses a file because it is deleted: the local contents become a new file.
    package func refused(_ work: Work) throws { try record.remove(work.file.fileUUID) }

    /// Records that a sync has completed: except for some files, the server has everything that was passed to the
    /// library, and all changes by others have been delivered.
    /// - Parameter waiting: The excepted files.
    package func committed(except waiting: Set<FileUUID> = []) throws {
        // Restores changes that were dropped for a delivery that did not arrive, perhaps because the server already had
        // them.
        try record.together {
            for file in record.files(where: { !$0.conflict.isEmpty && !waiting.contains($0.fileUUID) }) {
                try update(file.fileUUID) { file in
                    if file.conflict.contains(.contents) { file.pending.insert(.contents) }
                    if file.conflict.contains(.path) { file.pending.insert(.path) }
                    file.conflict = []
                }
            }
            let announced = record.files {
                $0.pending.isEmpty && $0.conflict.isEmpty && !$0.isAlias && $0.serverPath != $0.path
                    && !waiting.contains($0.fileUUID)
            }
            for file in announced { try update(file.fileUUID) { $0.serverPath = $0.path.composed } }
        }
    }

    private func description(of file: RecordedFile) -> FileDescription {
        // A file that is not at its proper path here is announced with the proper path.
        let path = file.isAlias ? file.serverPath ?? file.path : file.path
        return FileDescription(path: path, modified: file.modified, by: file.by)
    }
}

extension DirectoryKeeper {
    /// Records that the library does not know a file that was passed to it: it is uploaded again.
    package func mustUpload(_ uuid: FileUUID) throws {
        try update(uuid) { file in
            file.signature = nil
            file.pending.insert(.contents)
        }
    }
}

/// A change that the library has durably accepted and that the server does not have yet.
///
/// The record keeps it so that pending changes can be listed without the library's store, which another process may
/// have open, and so that even a later process can report a change as sent.
package struct HandedOver: Sendable, Hashable {
    package let fileUUID: FileUUID
    /// The path that it had when it was handed over.
    package var path: RelativePath
    package var what: RecordedFile.Pending
    /// The size of the contents in bytes; 0 without contents.
    package var bytes: Int64 = 0
    /// Why the last attempt to send it failed, for people; nil without a known problem.
    package var problem: String?
    /// Whether it is sent only after a person takes action.
    package var isBlocked: Bool

    package init(
        fileUUID: FileUUID, path: RelativePath, what: RecordedFile.Pending, bytes: Int64 = 0, problem: String? = nil,
        isBlocked: Bool = false
    ) {
        self.fileUUID = fileUUID
        self.path = path
        self.what = what
        self.bytes = bytes
        self.problem = problem
        self.isBlocked = isBlocked
    }
}

extension DirectoryKeeper {
    /// Records a change that the library has accepted, combined with the file's earlier changes.
    func handOver(_ file: RecordedFile, _ what: RecordedFile.Pending, bytes: Int64 = 0) throws(RecordError) {
        var row = HandedOver(fileUUID: file.fileUUID, path: file.path, what: what, bytes: bytes)
        if let before = record.handedOver[file.fileUUID], what != .deletion {
            row.what.formUnion(before.what)
            row.bytes = what.contains(.contents) ? bytes : before.bytes
        }
        try record.save(row)
    }

    /// Records the changes that the library has sent.
    /// - Parameter waiting: the files for which the library still has changes.
    /// - Returns: The changes that the library no longer has, and the server now has.
    package func settleHandedOver(waiting: Set<FileUUID>) throws -> [HandedOver] {
        let sent = record.handedOver.values.filter { !waiting.contains($0.fileUUID) }
            .sorted { $0.path.text < $1.path.text }
        try record.together { for row in sent { try record.removeHandedOver(row.fileUUID) } }
        return sent
    }

    /// Records that the library has dropped changes to a file, which will never be sent.
    package func dropHandedOver(
        _ uuid: FileUUID, _ what: RecordedFile.Pending = [.contents, .path, .deletion]
    ) throws(RecordError) {
        guard var row = record.handedOver[uuid] else { return }
        row.what.subtract(what)
        if row.what.isEmpty { try record.removeHandedOver(uuid) } else { try record.save(row) }
    }

    /// Records a change that the library has queued by itself, such as a file that a restored server has lost.
    package func noteQueued(_ uuid: FileUUID, _ what: RecordedFile.Pending) throws(RecordError) {
        guard record.handedOver[uuid] == nil, let file = record[uuid] else { return }
        try handOver(file, what, bytes: what.contains(.contents) ? file.signature?.size ?? 0 : 0)
    }

    /// Records why a change could not be sent, for ``HandedOver/problem``; nil without a known problem.
    package func note(problem: String?, isBlocked: Bool = false, of uuid: FileUUID) throws(RecordError) {
        guard var row = record.handedOver[uuid], row.problem != problem || row.isBlocked != isBlocked else { return }
        (row.problem, row.isBlocked) = (problem, isBlocked)
        try record.save(row)
    }
}
