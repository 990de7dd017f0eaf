package import SyncProtocol

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
    package func settleHandedOver(waiting: Set<FileUUID>) throws(RecordError) -> [HandedOver] {
        let sent = record.handedOver.values.filter { !waiting.contains($0.fileUUID) }
            .sorted { $0.path.text < $1.path.text }
        for row in sent { try record.removeHandedOver(row.fileUUID) }
        return sent
    }

    /// Records that the library has dropped changes of a file, which will never be sent.
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
