package import SyncProtocol

extension DirectoryKeeper {
    /// A change to pass to the library.
    package enum Work: Sendable, Hashable {
        /// Upload the contents at a path, with a new text; also if only one of them is new.
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
